"""How far each shard of the join has come: which record is next, which was applied before, which was lost.

In:  a record's (shard, epoch, batch, part). Out: apply it, drop it, or forget the shard and then apply it.
OutOfOrderError where a record is missing between the last one and this one.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from penstock.timelines.store.values import OutOfOrderError


class Step(NamedTuple):
    """Of one shard."""

    epoch: int
    batch: int
    part: int


class Verdict(Enum):
    """On a record."""

    APPLY = 0
    DROP = 1
    FORGET_AND_APPLY = 2


def verdict(shard: int, last: Step | None, step: Step) -> Verdict:
    if last is not None and step <= last:
        return Verdict.DROP
    expected = last.part + 1 if last is not None and step[:2] == last[:2] else 0
    if step.part != expected:
        after = "nothing" if last is None else f"epoch {last.epoch}, batch {last.batch}, part {last.part}"
        raise OutOfOrderError(
            f"shard {shard}: epoch {step.epoch}, batch {step.batch}, part {step.part} came after {after}: "
            f"part {expected} is missing"
        )
    if last is not None and step.epoch > last.epoch:
        return Verdict.FORGET_AND_APPLY
    return Verdict.APPLY
