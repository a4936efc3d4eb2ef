from __future__ import annotations

import pytest
from google.rpc import code_pb2
from hypothesis import given
from hypothesis import strategies as st
from penstock.client.retry import Backoff, Failure, may_retry

BACKOFF = Backoff(initial_us=100, max_us=1000)
CHANCE = st.floats(0, 1, exclude_max=True)


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (Failure(code_pb2.UNAVAILABLE, ""), True),
        (Failure(code_pb2.RESOURCE_EXHAUSTED, ""), True),
        (Failure(code_pb2.DEADLINE_EXCEEDED, ""), True),
        (Failure(code_pb2.ABORTED, ""), True),
        (Failure(code_pb2.CANCELLED, ""), True),
        (Failure(code_pb2.INTERNAL, ""), True),
        (Failure(code_pb2.INVALID_ARGUMENT, ""), False),
        (Failure(code_pb2.UNIMPLEMENTED, ""), False),
        (Failure(code_pb2.PERMISSION_DENIED, ""), False),
        (Failure(code_pb2.UNAUTHENTICATED, ""), False),
        (Failure(code_pb2.UNAVAILABLE, "", final=True), False),
        (Failure(code_pb2.RESOURCE_EXHAUSTED, "Received message larger than max (5 vs. 4)"), False),
        (Failure(99, "from the future"), False),
    ],
)
def test_may_retry(failure: Failure, expected: bool) -> None:
    assert may_retry(failure) is expected


@given(failures=st.integers(1, 10_000), chance=CHANCE)
def test_pause_doubles_within_its_bounds(failures: int, chance: float) -> None:
    ceiling = min(1000, 100 * 2 ** min(failures - 1, 20))
    assert ceiling // 2 <= BACKOFF.pause_us(failures, None, chance) <= ceiling


@given(failures=st.integers(1, 100), hint=st.integers(0, 10**9), chance=CHANCE)
def test_hint_is_a_floor_and_nearly_a_ceiling(failures: int, hint: int, chance: float) -> None:
    assert hint <= BACKOFF.pause_us(failures, hint, chance) <= hint * 1.2


def test_failure_reads_well() -> None:
    assert str(Failure(code_pb2.UNAVAILABLE, "Kafka is gone")) == "UNAVAILABLE: Kafka is gone"
    assert str(Failure(99, "?")) == "code 99: ?"
