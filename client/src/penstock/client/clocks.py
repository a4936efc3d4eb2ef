"""The two clocks of a device.

Out: readings of the wall clock, which a user or a network may set, and of a steady clock,
     which is never set and counts through sleep.
A steady clock makes corrected times independent of what happens to the wall clock, but only
if it counts while the device sleeps: one that pauses (CLOCK_MONOTONIC on Linux) would date
an event from before the sleep too late by the whole sleep, without anything to notice it by.
"""

from __future__ import annotations

import time
from time import clock_gettime_ns, time_ns
from typing import Protocol

from penstock.client.reading import Reading

# Linux calls it BOOTTIME; elsewhere (macOS) MONOTONIC itself counts through sleep.
_STEADY_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


class DeviceClocks(Protocol):
    """What a publisher reads to say when something happened. Implement it to simulate a device."""

    def wall_us(self) -> int:
        """Microseconds since 1970, however wrong."""

    def steady_us(self) -> int | None:
        """Microseconds of a clock that is never set and counts through sleep; None if there is none."""


class SystemClocks:
    """The clocks of this machine."""

    def wall_us(self) -> int:
        return time_ns() // 1000

    def steady_us(self) -> int | None:
        return None if _STEADY_CLOCK is None else clock_gettime_ns(_STEADY_CLOCK) // 1000


def read(clocks: DeviceClocks) -> Reading:
    """Now, by both clocks."""
    return Reading(clocks.wall_us(), clocks.steady_us())
