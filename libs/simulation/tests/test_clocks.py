from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.simulation.clocks import (
    DAY_US,
    HOUR_US,
    MINUTE_US,
    SECOND_US,
    YEAR_US,
    ClockProfile,
    ClockSet,
    DeviceClocks,
    Oscillator,
    random_set_us,
    random_wall_error_us,
)

START_US = 1_790_000_000_000_000
WILD = ClockProfile(drift_ppm_typical=500.0, drift_ppm_max=150.0, wander_ppm=50.0)


def some_clocks(seed: int = 1) -> DeviceClocks:
    return DeviceClocks(
        Oscillator(Random(seed), WILD, START_US),
        start_us=START_US,
        wall_ahead_us=HOUR_US,
        up_since_us=START_US - MINUTE_US,
        sets=[ClockSet(START_US + 2 * HOUR_US, -DAY_US), ClockSet(START_US + HOUR_US, 7 * SECOND_US)],
        reboots_us=[START_US + 3 * HOUR_US],
    )


@given(st.integers(0, 99), st.integers(-DAY_US, 3 * DAY_US), st.integers(0, DAY_US))
def test_no_oscillator_leaves_its_stated_drift(seed: int, since_us: int, for_us: int) -> None:
    oscillator = Oscillator(Random(seed), WILD, START_US)
    counted = oscillator.elapsed_us(START_US + since_us + for_us) - oscillator.elapsed_us(START_US + since_us)
    # Each ten minutes round to a microsecond.
    assert abs(counted - for_us) <= for_us * 150 // 1_000_000 + for_us // (10 * MINUTE_US) + 3


def test_times_may_be_asked_in_any_order() -> None:
    times = [START_US + hours * HOUR_US for hours in (5, 0, 3, 1, 4)]
    one, other = some_clocks(), some_clocks()
    assert {at: one.read(at) for at in times} == {at: other.read(at) for at in sorted(times)}


def test_a_set_moves_the_wall_clock_and_nothing_else() -> None:
    clocks, at_us = some_clocks(), START_US + HOUR_US
    before, after = clocks.read(at_us - 1), clocks.read(at_us)
    assert after.wall_us - before.wall_us == pytest.approx(7 * SECOND_US, abs=3)
    assert after.steady_us - before.steady_us <= 2


def test_a_reboot_starts_the_steady_clock_again_and_nothing_else() -> None:
    clocks, at_us = some_clocks(), START_US + 3 * HOUR_US
    before, after = clocks.read(at_us - 1), clocks.read(at_us)
    assert (before.boot, after.boot) == (0, 1)
    assert after.steady_us == 0
    assert after.wall_us - before.wall_us <= 2


def test_most_wall_clocks_are_within_a_second_and_some_a_year_off() -> None:
    random = Random(7)
    errors = sorted(abs(random_wall_error_us(random)) for _ in range(2_000))
    assert errors[1_400] < SECOND_US
    assert errors[-1] > 300 * DAY_US


def test_sets_go_both_ways_from_half_a_second_to_a_year() -> None:
    random = Random(7)
    sets = [random_set_us(random) for _ in range(2_000)]
    assert 900 < sum(by_us > 0 for by_us in sets) < 1_100
    assert SECOND_US // 2 <= min(map(abs, sets)) < SECOND_US
    assert YEAR_US // 2 < max(map(abs, sets)) <= YEAR_US
