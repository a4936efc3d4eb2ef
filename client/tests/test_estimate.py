from __future__ import annotations

import pytest
from penstock.client.estimate import ClockEstimate, domain_name, estimate_of, method_name
from penstock.events.v1.event_pb2 import CLOCK_DOMAIN_WALL, CLOCK_METHOD_ONE_WAY, ClockDomain, ClockMethod
from penstock.ingest.v1 import ingest_pb2
from penstock.ingest.v1.ingest_pb2 import PublishResponse


@pytest.mark.parametrize("bound_us", [None, 0, 1500])
def test_no_bound_is_none_and_not_zero(bound_us: int | None) -> None:
    said = ingest_pb2.ClockEstimate(
        method=CLOCK_METHOD_ONE_WAY, domain=CLOCK_DOMAIN_WALL, offset_us=-5, error_bound_us=bound_us
    )
    assert estimate_of(PublishResponse(clock=said)) == ClockEstimate("ONE_WAY", "WALL", -5, bound_us)


def test_answer_without_an_estimate() -> None:
    assert estimate_of(PublishResponse()) is None


def test_names_of_a_newer_server_are_numbers() -> None:
    assert method_name(ClockMethod.ValueType(99)) == "99"
    assert domain_name(ClockDomain.ValueType(99)) == "99"
    assert domain_name(ClockDomain.ValueType(0)) is None
