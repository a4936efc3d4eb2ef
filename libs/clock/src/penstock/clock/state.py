"""The nouns of the clock: what is known about a device's clock, as plain integers.

Every offset is server time minus device time; every time is in microseconds. A `ClockState` is all that one
request leaves for the next: it travels in the clock token, or waits in a bounded cache, and refers to nothing
else. Nothing here reads a clock, and nothing here is a float.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

# Beyond this (the year 4253) a device's reading is taken for noise; sums of a few stay within 64 bits.
TIME_MAX_US = 1 << 56
_MILLION = 1_000_000


class Domain(IntEnum):
    """Which of the device's clocks is meant; numbered as penstock.events.v1.ClockDomain."""

    WALL = 1
    STEADY = 2


class Method(IntEnum):
    """How an offset was found; numbered as penstock.events.v1.ClockMethod."""

    ECHO = 1
    ONE_WAY = 2
    NAIVE = 3
    RECEIVED = 4


@dataclass(frozen=True, slots=True)
class Settings:
    """What we are willing to believe about clocks and networks."""

    # No device clock runs faster or slower than this against ours, unless it is set.
    drift_ppm_max: int = 200
    # The clocks of two of our own pods differ by no more than this.
    server_skew_us: int = 2_000
    # A request that took this much longer than the best ones is late: stalled, or from a clock that was set.
    late_us: int = 200_000
    # An exchange under way for longer than this, each way, is a stall and says nothing about the middle.
    delay_us_max: int = 1_000_000
    # Without echoes, the quickest request of about this long counts.
    memory_us: int = 720 * _MILLION
    # An old clock is remembered for this long after it was set, for events that are still to come.
    prior_kept_us: int = 30 * 86_400 * _MILLION
    # No request takes longer than this.
    travel_us_max: int = 120 * _MILLION
    # No resend keeps the time of its first attempt for longer than this: the clock was set backwards.
    stale_us_max: int = 3_600 * _MILLION

    def __post_init__(self) -> None:
        faults = [name for name in self.__slots__ if getattr(self, name) < (name == "memory_us")]
        if self.drift_ppm_max > 100_000:
            faults.append("drift_ppm_max")
        if faults:
            found = ", ".join(f"{name}={getattr(self, name)}" for name in faults)
            raise ValueError(
                f"clock settings out of range: {found}; none may be negative, memory_us not 0 and "
                "drift_ppm_max not above 100000"
            )


class Prior(NamedTuple):
    """The offsets that a clock may have had before it was set, which it was by `set_before_us` (server time)."""

    offset_min_us: int
    offset_max_us: int
    set_before_us: int


class Floor(NamedTuple):
    """The newest event of a boot so far: later events are not corrected to before it."""

    seq: int
    device_us: int
    corrected_us: int


class Echo(NamedTuple):
    """An exchange that the device completed: a request, our reply, and its reading when the reply arrived."""

    sent_us: int
    received_us: int
    replied_us: int
    # None: the device did not say. The token alone still proves that its request left after our reply did.
    reply_received_us: int | None


class ClockState(NamedTuple):
    """What one request leaves for the next."""

    domain: Domain
    # The request (device time, server time) and the reply to it (server time).
    sent_us: int
    received_us: int
    replied_us: int
    # Half of a good round trip. None: no whole exchange yet.
    delay_us: int | None
    # The offset by the quickest of the recent requests, for clients that echo nothing.
    quickest_us: int
    # The offset as of received_us. None: nothing bounds it from below.
    offset_min_us: int | None
    offset_max_us: int
    prior: Prior | None = None
    floor: Floor | None = None
    # The clock ran backwards between two events in sequence, and no echo has explained it yet.
    ran_back: bool = False
    # What the last request would have made of the offset, if it was late and no echo could tell why.
    suspect_us: int | None = None

    def echo(self, reply_received_us: int | None) -> Echo:
        """The exchange that is complete now that the device returned this state."""
        return Echo(self.sent_us, self.received_us, self.replied_us, reply_received_us)


def drift_us(elapsed_us: int, ppm: int) -> int:
    """The most by which a clock may have drifted, rounded up, by whichever clock `elapsed_us` was taken."""
    return -(-elapsed_us * ppm // (_MILLION - ppm)) if elapsed_us > 0 else 0


def usable(wall_us: int) -> bool:
    """Whether a wall clock's reading says anything at all."""
    return 0 < wall_us < TIME_MAX_US


def usable_steady(steady_us: int | None) -> bool:
    """Whether a steady clock's reading is there and says anything at all."""
    return steady_us is not None and 0 <= steady_us < TIME_MAX_US


def choose_domain(wall_us: int, steady_us: int | None, boot_id: str) -> Domain | None:
    """The clock to correct, given a request's `sent`; None if it names no usable time."""
    if boot_id and usable_steady(steady_us):
        return Domain.STEADY
    return Domain.WALL if usable(wall_us) else None
