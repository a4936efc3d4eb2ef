"""The situations that a clock correction has to stand, by name, with every number that defines them.

In:  nothing. Out: `SCENARIOS`, and `make_device`, which draws one device of a scenario from a seeded randomness.
"""

from dataclasses import dataclass, field
from random import Random

from penstock.simulation.clocks import (
    DAY_US,
    HOUR_US,
    SECOND_US,
    ClockProfile,
    ClockSet,
    DeviceClocks,
    Oscillator,
    random_set_us,
    random_wall_error_us,
)
from penstock.simulation.networks import Network, NetworkProfile

_ROUGH = NetworkProfile(stalled_requests=0.03, stalled_replies=0.01, lost_replies=0.05)


@dataclass(frozen=True)
class Scenario:
    """A population of devices and what happens to it."""

    name: str
    what: str
    network: NetworkProfile = field(default_factory=NetworkProfile)
    clocks: ClockProfile = field(default_factory=ClockProfile)
    requests: int = 120
    events_per_request: int = 4
    # A device sends what it has after a pause between these.
    pause_us_least: int = 5 * SECOND_US
    pause_us_most: int = 55 * SECOND_US
    # Times that a user or a network sets the wall clock, per device and run: from 0 to this.
    sets_most: int = 0
    # Pauses of hours or days without a network, per device and run, while events go on happening, more rarely.
    offline_spells: int = 0
    offline_us_least: int = 2 * HOUR_US
    offline_us_most: int = 3 * DAY_US
    # The share of devices that restart while offline.
    reboots: float = 0.0
    # A careless client: what it sends again keeps the time of the first attempt.
    stale_resends: bool = False


@dataclass(frozen=True)
class SimulatedDevice:
    """A device's clocks, its network, and when it is offline (true times)."""

    clocks: DeviceClocks
    network: Network
    offline: tuple[tuple[int, int], ...]


SCENARIOS = (
    Scenario("quiet", "nothing goes wrong"),
    Scenario("stalls", "3 % of requests and 1 % of replies stall 10–30 s, 5 % of replies are lost", network=_ROUGH),
    Scenario(
        "drift",
        "as stalls, and clocks drift up to 150 ppm",
        network=_ROUGH,
        clocks=ClockProfile(drift_ppm_typical=100.0, drift_ppm_max=150.0, wander_ppm=10.0),
    ),
    Scenario("sets", "as stalls, and the wall clock is set 0–3 times by 0.5 s to 1 year", network=_ROUGH, sets_most=3),
    Scenario(
        "stale resends",
        "as stalls, 5 % of requests are lost, and resends 5–300 s later keep their old time of sending",
        network=NetworkProfile(stalled_requests=0.03, stalled_replies=0.01, lost_replies=0.05, lost_requests=0.05),
        stale_resends=True,
    ),
    Scenario(
        "offline days",
        "as stalls, 3 offline spells of 2 hours to 3 days, 10 % restart in one, half set the wall clock once",
        network=_ROUGH,
        sets_most=1,
        offline_spells=3,
        reboots=0.1,
    ),
)


def make_device(random: Random, scenario: Scenario, start_us: int) -> SimulatedDevice:
    """Draws a device. The same seed gives the same device, down to the last microsecond."""
    pause_us = (scenario.pause_us_least + scenario.pause_us_most) // 2
    end_us = start_us + scenario.requests * pause_us
    offline: list[tuple[int, int]] = []
    for at_us in sorted(random.randint(start_us, end_us) for _ in range(scenario.offline_spells)):
        begins_us = at_us + sum(until - since for since, until in offline)
        offline.append((begins_us, begins_us + random.randint(scenario.offline_us_least, scenario.offline_us_most)))
    end_us += sum(until - since for since, until in offline)
    sets = [
        ClockSet(random.randint(start_us, end_us), random_set_us(random))
        for _ in range(random.randint(0, scenario.sets_most))
    ]
    reboots = [random.randint(*random.choice(offline))] if offline and random.random() < scenario.reboots else []
    clocks = DeviceClocks(
        Oscillator(random, scenario.clocks, start_us),
        start_us=start_us,
        wall_ahead_us=random_wall_error_us(random),
        up_since_us=start_us - random.randint(60 * SECOND_US, 10 * DAY_US),
        sets=sets,
        reboots_us=reboots,
    )
    return SimulatedDevice(clocks, Network(random, scenario.network), tuple(offline))
