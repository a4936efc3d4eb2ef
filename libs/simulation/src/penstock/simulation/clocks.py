"""The clocks of a simulated device: what they read at a true time.

In:  a seeded source of randomness, a profile, and the sets and reboots that are to happen.
Out: `read(true_us)`: what the wall clock and the steady clock show at that true time, and which boot it is.
Guaranteed: the rate of the oscillator behind both clocks never leaves the profile's `drift_ppm_max`; only a set moves
the wall clock otherwise, and nothing but a reboot touches the steady clock. Any true time may be asked, in any order.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US
YEAR_US = 365 * DAY_US
_SEGMENT_US = 10 * MINUTE_US


class Reading(NamedTuple):
    """What a device's clocks show, and the truth that only the simulation knows."""

    true_us: int
    wall_us: int
    steady_us: int
    boot: int


class ClockSet(NamedTuple):
    """The wall clock jumps by `by_us` at a true time."""

    at_us: int
    by_us: int


@dataclass(frozen=True)
class ClockProfile:
    """How good the clocks of a population are."""

    # Most quartz is within 20 ppm; a few run far worse.
    drift_ppm_typical: float = 20.0
    # No clock of the population ever exceeds this.
    drift_ppm_max: float = 150.0
    # How much the rate changes from one ten minutes to the next (temperature).
    wander_ppm: float = 1.0


class Oscillator:
    """What both clocks count: true time at a rate that wanders."""

    def __init__(self, random: Random, profile: ClockProfile, start_us: int) -> None:
        self._random, self._profile, self._start_us = random, profile, start_us
        self._elapsed_us = [0]
        self._ppm = [self._limited(random.gauss(0.0, profile.drift_ppm_typical))]

    def elapsed_us(self, true_us: int) -> int:
        """What the oscillator has counted since the start; before it, it ran at its first rate."""
        segment, within = divmod(true_us - self._start_us, _SEGMENT_US)
        if segment < 0:
            segment, within = 0, true_us - self._start_us
        while segment >= len(self._ppm):
            self._elapsed_us.append(self._elapsed_us[-1] + _ticks(_SEGMENT_US, self._ppm[-1]))
            self._ppm.append(self._limited(self._ppm[-1] + self._random.gauss(0.0, self._profile.wander_ppm)))
        return self._elapsed_us[segment] + _ticks(within, self._ppm[segment])

    def _limited(self, ppm: float) -> float:
        return max(-self._profile.drift_ppm_max, min(self._profile.drift_ppm_max, ppm))


class DeviceClocks:
    """A wall clock that users set, and a steady clock that only a reboot starts again."""

    def __init__(
        self,
        oscillator: Oscillator,
        *,
        start_us: int,
        wall_ahead_us: int,
        up_since_us: int,
        sets: Sequence[ClockSet] = (),
        reboots_us: Sequence[int] = (),
    ) -> None:
        self._oscillator = oscillator
        self._wall_us = start_us + wall_ahead_us
        self._sets = sorted(sets)
        self._set_at = [moment.at_us for moment in self._sets]
        self._set_by = [0]
        for moment in self._sets:
            self._set_by.append(self._set_by[-1] + moment.by_us)
        self._boots = [up_since_us, *sorted(reboots_us)]

    def read(self, true_us: int) -> Reading:
        """What the clocks show at this true time."""
        ticks = self._oscillator.elapsed_us(true_us)
        boot = max(0, bisect_right(self._boots, true_us) - 1)
        return Reading(
            true_us,
            self._wall_us + ticks + self._set_by[bisect_right(self._set_at, true_us)],
            ticks - self._oscillator.elapsed_us(self._boots[boot]),
            boot,
        )


def random_wall_error_us(random: Random) -> int:
    """How far a wall clock is ahead: most within a second, some minutes or hours, some a year."""
    kind = random.random()
    if kind < 0.80:
        return round(random.gauss(0.0, 0.4 * SECOND_US))
    if kind < 0.92:
        return _either_way(random, random.randint(MINUTE_US, HOUR_US))
    if kind < 0.98:
        return _either_way(random, random.randint(HOUR_US, 12 * HOUR_US))
    return _either_way(random, random.randint(300 * DAY_US, 400 * DAY_US))


def random_set_us(random: Random) -> int:
    """By how much a wall clock is set: half a second to a year, every order of magnitude alike."""
    return _either_way(random, round(SECOND_US // 2 * (2 * YEAR_US / SECOND_US) ** random.random()))


def _either_way(random: Random, by_us: int) -> int:
    return by_us if random.random() < 0.5 else -by_us


def _ticks(true_us: int, ppm: float) -> int:
    return true_us + round(true_us * ppm / 1e6)
