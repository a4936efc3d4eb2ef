"""A few of the enriched events, to look at: slow enough to be read, and not only the boring ones.

In:  every event that may be picked. Out: the newest of those picked. Pure.
All were joined with something. Every other one comes from a device whose clock is far off; a correction is among them
now and then; and one that nobody here has made (a person at a second terminal has) is picked in any case.
"""

from collections import deque
from typing import NamedTuple

KEPT = 20
_EVERY_US = 600_000
_CORRECTION_EVERY_US = 3_000_000
_FAR_OFF_US = 60_000_000


class Sighting(NamedTuple):
    corrected_us: int
    bound_us: int | None
    # What the device's wall clock said.
    claimed_us: int
    type: str
    # What it was joined with, as people read it.
    joined: str
    revision: int
    # Made by no device of ours.
    is_guest: bool


class Sightings:
    def __init__(self) -> None:
        self.newest: deque[Sighting] = deque(maxlen=KEPT)
        self._next_us = 0
        self._next_correction_us = 0
        self._far_off = False

    def may_take(self, *, revision: int, is_guest: bool, now_us: int) -> bool:
        """Whether it is worth the while to make a sighting of such an event: hardly ever."""
        return is_guest or now_us >= (self._next_correction_us if revision else self._next_us)

    def offer(self, sighting: Sighting, now_us: int) -> None:
        """Picks it, or not."""
        if not self.may_take(revision=sighting.revision, is_guest=sighting.is_guest, now_us=now_us):
            return
        if sighting.is_guest:
            self.newest.append(sighting)
        elif sighting.revision:
            self.newest.append(sighting)
            self._next_correction_us = now_us + _CORRECTION_EVERY_US
        elif self._is_wanted(sighting):
            self.newest.append(sighting)
            self._next_us = now_us + _EVERY_US
            self._far_off = not self._far_off

    def _is_wanted(self, sighting: Sighting) -> bool:
        return (abs(sighting.claimed_us - sighting.corrected_us) >= _FAR_OFF_US) is self._far_off
