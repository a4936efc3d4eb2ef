"""Corrects the times of the events of one batch.

In:  the batch's time of sending and what ingestion stamped on it; per event its readings, its sequence number
     and whether it happened in the batch's boot.
Out: the corrected time, never after the receive time; a bound that the truth cannot leave, absent where
     nothing bounds it; and what had to be done to get there.
Guaranteed: of two events of one boot, the later in sequence is not corrected to before the earlier unless the
     device's own clock ran backwards. Plain integers in, plain integers out: this runs once per event.
"""

from typing import NamedTuple

from penstock.clock.estimate import Estimate
from penstock.clock.state import Domain, Floor, Method, Prior, drift_us, usable, usable_steady


class Corrected(NamedTuple):
    """The time of one event by the server's clock."""

    corrected_us: int
    error_bound_us: int | None
    method: Method
    domain: Domain | None
    offset_us: int
    # The event claimed to have occurred after it was sent.
    clamped: bool
    # The clock was set about then, and the bound spans the readings before and after.
    spans_clock_set: bool
    # The event's time by the clock of the batch. None where it has none.
    device_us: int | None


class PlainClock(NamedTuple):
    """A batch's clock for code that corrects many events at once."""

    by_steady: bool
    sent_us: int
    received_us: int
    offset_us: int
    bounded: bool
    offset_min_us: int
    offset_max_us: int
    drift_ppm_max: int
    floor: Floor | None
    method: Method
    domain: Domain


class BatchClock:
    """Everything about a batch that the times of its events depend on."""

    __slots__ = (
        "_bounded", "_by_steady", "_domain", "_drift_ppm", "_floor", "_high", "_low", "_method", "_offset", "_prior",
        "_received", "_sent", "_to_steady",
    )  # fmt: skip

    def __init__(
        self,
        *,
        method: Method,
        domain: Domain | None,
        offset_us: int,
        offset_min_us: int | None,
        offset_max_us: int | None,
        drift_ppm_max: int,
        received_us: int,
        sent_wall_us: int,
        sent_steady_us: int | None,
        prior: Prior | None = None,
        floor: Floor | None = None,
    ) -> None:
        self._method, self._domain, self._received = method, domain, received_us
        self._offset, self._drift_ppm = offset_us, drift_ppm_max
        self._bounded = offset_min_us is not None and offset_max_us is not None
        self._low, self._high = offset_min_us or 0, offset_max_us or 0
        self._prior, self._floor = prior, floor
        self._by_steady = domain is Domain.STEADY
        steady = sent_steady_us if domain is Domain.STEADY else None
        self._sent = sent_wall_us if steady is None else steady
        # Takes a wall reading to the steady clock, if both were read when the batch was sent.
        self._to_steady = steady - sent_wall_us if steady is not None and usable(sent_wall_us) else None

    @classmethod
    def of(
        cls,
        estimate: Estimate,
        *,
        received_us: int,
        sent_wall_us: int,
        sent_steady_us: int | None,
        drift_ppm_max: int,
    ) -> "BatchClock":
        """The clock of a batch that has just been received."""
        return cls(
            method=estimate.method,
            domain=estimate.domain,
            offset_us=estimate.offset_us,
            offset_min_us=estimate.offset_min_us,
            offset_max_us=estimate.offset_max_us,
            drift_ppm_max=drift_ppm_max,
            received_us=received_us,
            sent_wall_us=sent_wall_us,
            sent_steady_us=sent_steady_us,
            prior=estimate.prior,
            floor=None if estimate.next_state is None else estimate.next_state.floor,
        )

    def plain(self) -> "PlainClock | None":
        """The same in numbers, if neither a set nor a missing clock makes it more than that."""
        if self._domain is None or self._prior is not None:
            return None
        return PlainClock(
            self._by_steady, self._sent, self._received, self._offset, self._bounded, self._low, self._high,
            self._drift_ppm, self._floor, self._method, self._domain,
        )  # fmt: skip

    def correct(self, seq: int, wall_us: int, steady_us: int | None = None, *, same_boot: bool = True) -> Corrected:
        """The time of one event, from its readings of the device's clocks."""
        if self._domain is None:
            return self._unknown()
        if not self._by_steady:
            return self._from(seq, wall_us, same_boot, same_boot) if usable(wall_us) else self._unknown()
        if same_boot and steady_us is not None and usable_steady(steady_us):
            return self._from(seq, steady_us, True, True)
        if self._to_steady is None or not usable(wall_us):
            return self._unknown()
        # Only the wall clock tells, and nobody watched it: it may have been set since.
        return self._from(seq, wall_us + self._to_steady, False, False)

    def _from(self, seq: int, device_us: int, bounded: bool, ordered: bool) -> Corrected:
        sent, received = self._sent, self._received
        at = device_us if device_us <= sent else sent
        corrected = at + self._offset
        floor = self._floor
        if ordered and floor is not None and seq > floor.seq and device_us >= floor.device_us:
            corrected = max(corrected, floor.corrected_us)
        if corrected > received:
            corrected = received
        bound, spans = None, False
        if bounded and self._bounded and (at == device_us or self._explains(device_us)):
            low, high, spans = self._hull(device_us, at)
            below, above = corrected - low, high - corrected
            bound = below if below > above else above
        return Corrected(corrected, bound, self._method, self._domain, self._offset, at != device_us, spans, device_us)

    def _explains(self, device_us: int) -> bool:
        """Whether any offset that we know of puts an event that claims to be from after its sending before it."""
        least = self._low if self._prior is None else min(self._low, self._prior.offset_min_us)
        return device_us + least <= self._sent + self._high

    def _hull(self, device_us: int, at: int) -> tuple[int, int, bool]:
        """The earliest and the latest that the event can have occurred, and whether a set lies in between."""
        latest = self._sent + self._high
        # What claims to be from after its sending is at most as old as the clock was set back.
        age = self._sent - at if at == device_us else self._high - self._low
        aging = drift_us(age, self._drift_ppm)
        low, high = at + self._low - aging, min(at + self._high + aging, latest)
        prior = self._prior
        if prior is None:
            return low, high, False
        since = prior.set_before_us - (device_us + prior.offset_min_us)
        aging = drift_us(since, self._drift_ppm)
        if since + aging < 0:
            return low, high, False  # by the clock before the set it would have occurred after the set
        before_low = device_us + prior.offset_min_us - aging
        before_high = min(device_us + prior.offset_max_us + aging, latest)
        # A prior that holds the offset of today stems from a long silence, not from a set.
        spans = not prior.offset_min_us <= self._offset <= prior.offset_max_us
        return min(low, before_low), max(high, before_high), spans

    def _unknown(self) -> Corrected:
        return Corrected(self._received, None, Method.RECEIVED, None, 0, False, False, None)


def newest(floor: Floor | None, seq: int, corrected: Corrected) -> Floor | None:
    """The floor for the next batch, given the last event in sequence of this one (of the batch's boot)."""
    if seq == 0 or corrected.device_us is None or (floor is not None and seq <= floor.seq):
        return floor
    return Floor(seq, corrected.device_us, corrected.corrected_us)
