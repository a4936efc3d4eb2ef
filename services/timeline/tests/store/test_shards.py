"""Which record of a shard is next."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.timelines.store.shards import Step, Verdict, verdict
from penstock.timelines.store.values import OutOfOrderError

LAST = Step(epoch=2, batch=5, part=1)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (Step(2, 5, 1), Verdict.DROP),
        (Step(2, 5, 0), Verdict.DROP),
        (Step(2, 4, 7), Verdict.DROP),
        (Step(1, 9, 0), Verdict.DROP),
        (Step(2, 5, 2), Verdict.APPLY),
        (Step(2, 6, 0), Verdict.APPLY),
        (Step(2, 9, 0), Verdict.APPLY),
        (Step(3, 1, 0), Verdict.FORGET_AND_APPLY),
        (Step(7, 3, 0), Verdict.FORGET_AND_APPLY),
    ],
)
def test_verdicts(step: Step, expected: Verdict) -> None:
    assert verdict(0, LAST, step) is expected


@pytest.mark.parametrize("step", [Step(2, 5, 3), Step(2, 6, 1), Step(3, 1, 1)])
def test_that_something_is_missing(step: Step) -> None:
    with pytest.raises(OutOfOrderError, match=f"shard 4: epoch {step.epoch}, batch {step.batch}, part {step.part}"):
        verdict(4, LAST, step)


def test_the_first_record_of_a_shard() -> None:
    assert verdict(0, None, Step(4, 7, 0)) is Verdict.APPLY
    with pytest.raises(OutOfOrderError, match="came after nothing: part 0 is missing"):
        verdict(0, None, Step(4, 7, 1))


steps = st.builds(Step, st.integers(0, 2), st.integers(0, 2), st.integers(0, 2))


@given(steps, steps)
def test_what_is_not_greater_is_dropped(last: Step, step: Step) -> None:
    try:
        dropped = verdict(0, last, step) is Verdict.DROP
    except OutOfOrderError:
        dropped = False
    assert dropped == (step <= last)
