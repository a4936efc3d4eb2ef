"""Who the simulated devices are: how good their clocks and networks are, how much they send, how long they stay.

In:  the number of devices and a seeded randomness. Out: the scenario, and one member of the fleet after the other.
A few of the first come back from a long spell offline, with events that are older than everything else here knows.
The clocks are those of penstock.simulation unchanged. Networks stall for seconds where real ones stall for longer,
so that half a minute shows what otherwise takes an hour; that flatters the peers' formula, not ours.
"""

from dataclasses import dataclass, replace
from random import Random

from penstock.simulation import NetworkProfile, Scenario, SimulatedDevice, make_device
from penstock.simulation.clocks import SECOND_US

DEVICES_MAX = 5_000
# A device takes part for about this long; then another one takes its place.
LIFE_US = 300 * SECOND_US
# Beyond about this much the devices would take the processor from what they are to show.
_REQUESTS_PER_S_MAX = 250
_EVENTS_PER_S_MAX = 1_200
_EVENTS_PER_DEVICE_S = 4.0
_DEVICE = "device-"
_OWN = "demo-"
_WITH_TOKENS = 0.85
_RETURNING_EVERY, _RETURNING_FIRST = 25, 7
# Long before the start, which takes seconds, and on a busy machine a minute or two.
_BACKLOG_AGE_US = (300 * SECOND_US, 600 * SECOND_US)
_BACKLOG_US = 8 * SECOND_US
_WITH_STEADY_CLOCK = 0.5

_NETWORK = NetworkProfile(
    stalled_requests=0.03,
    stalled_replies=0.01,
    stall_us_least=2 * SECOND_US,
    stall_us_most=8 * SECOND_US,
    lost_requests=0.01,
    lost_replies=0.03,
)


@dataclass(frozen=True)
class Member:
    """One device of the fleet. True times: `until_us`, when it leaves; `backlog_us`, when its first events happened."""

    device_id: str
    simulated: SimulatedDevice
    has_tokens: bool
    has_steady_clock: bool
    events_per_s: float
    until_us: int
    backlog_us: tuple[int, int] | None = None


def user_of(number: int) -> str:
    """The user of the device with this number."""
    return f"u{number}"


def own_device(purpose: str) -> str:
    """Of the demo itself: what it publishes is neither judged nor shown."""
    return f"{_OWN}{purpose}"


def is_ours(device_id: str) -> bool:
    """Whether a device is one of the fleet's, whose events are judged."""
    return device_id.startswith(_DEVICE)


def is_guest(device_id: str) -> bool:
    """Whether a device is one of people at a second terminal."""
    return not device_id.startswith((_DEVICE, _OWN))


def scenario(devices: int) -> Scenario:
    """What happens to the devices while they take part; the more there are, the rarer each one sends."""
    pause_us = round(SECOND_US * max(1.0, devices / _REQUESTS_PER_S_MAX))
    return Scenario(
        "demo",
        "3 % of requests and 1 % of replies stall 2-8 s, 1 % and 3 % are lost; spells offline; clocks that are set",
        network=_NETWORK,
        requests=LIFE_US // pause_us,
        pause_us_least=pause_us // 2,
        pause_us_most=pause_us * 3 // 2,
        sets_most=1,
        offline_spells=3,
        offline_us_least=3 * SECOND_US,
        offline_us_most=8 * SECOND_US,
    )


def draw(random: Random, plan: Scenario, devices: int, number: int, now_us: int) -> Member:
    """A device that has been taking part for a while already, where it is one of the first."""
    age_us = random.randrange(LIFE_US) if number <= devices else 0
    typical = min(_EVENTS_PER_DEVICE_S, _EVENTS_PER_S_MAX / devices)
    member = Member(
        device_id=f"{_DEVICE}{number:04}",
        simulated=make_device(random, plan, now_us - age_us),
        has_tokens=random.random() < _WITH_TOKENS,
        has_steady_clock=random.random() < _WITH_STEADY_CLOCK,
        events_per_s=typical * random.uniform(0.25, 1.75),
        until_us=now_us - age_us + LIFE_US,
    )
    is_returning = number <= devices and number % _RETURNING_EVERY == _RETURNING_FIRST
    return _returning(member, random, now_us) if is_returning else member


def _returning(member: Member, random: Random, now_us: int) -> Member:
    """With a steady clock, as phones have: nobody could say when the wall clock was set while it was away."""
    since_us = now_us - random.randint(*_BACKLOG_AGE_US)
    return replace(member, has_tokens=True, has_steady_clock=True, backlog_us=(since_us, since_us + _BACKLOG_US))
