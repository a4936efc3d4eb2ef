"""Moments as a device saw them. Pure: whole microseconds, no clock is read here."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Reading(NamedTuple):
    """A moment as the device saw it."""

    wall_us: int
    steady_us: int | None = None


def reading_of(moment: Reading | datetime) -> Reading:
    """A wall clock reading from a datetime, in integers. Refuses a datetime without a time zone."""
    if isinstance(moment, Reading):
        return moment
    if moment.tzinfo is None:
        raise ValueError(f"occurred={moment.isoformat()} has no time zone; use datetime(..., tzinfo=UTC)")
    return Reading((moment - _EPOCH) // _MICROSECOND)
