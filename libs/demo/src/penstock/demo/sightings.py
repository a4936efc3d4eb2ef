"""A few of the events read from the log, to look at: slow enough to be read, and not only the boring ones.

In:  every event, as it is read. Out: the newest of those picked. Pure.
Every other one comes from a device whose clock is far off, and one that nobody here has made (a person at a second
terminal has) is picked in any case.
"""

from collections import deque
from typing import NamedTuple

from penstock.clock import Method

KEPT = 20
_EVERY_US = 600_000
_FAR_OFF_US = 60_000_000


class Sighting(NamedTuple):
    corrected_us: int
    bound_us: int | None
    method: Method
    # What the device's wall clock said.
    claimed_us: int
    type: str
    device_id: str
    # Made by no device of ours.
    is_guest: bool


class Sightings:
    def __init__(self) -> None:
        self.newest: deque[Sighting] = deque(maxlen=KEPT)
        self._next_us = 0
        self._far_off = False

    def offer(self, sighting: Sighting, now_us: int) -> None:
        """Picks it, or not."""
        if sighting.is_guest:
            self.newest.append(sighting)
        elif now_us >= self._next_us and self._is_wanted(sighting):
            self.newest.append(sighting)
            self._next_us = now_us + _EVERY_US
            self._far_off = not self._far_off

    def _is_wanted(self, sighting: Sighting) -> bool:
        return (abs(sighting.claimed_us - sighting.corrected_us) >= _FAR_OFF_US) is self._far_off
