"""Times as people and programs read them.

In:  moments, lengths and bounds in microseconds; an event and its clock; a moment as a person typed it.
Out: text, and for JSON everything from which the corrected time was found; microseconds. Pure.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from penstock.client.estimate import ClockEstimate, domain_name, method_name
from penstock.client.excerpt import excerpt
from penstock.client.reading import reading_of
from penstock.document.duration import milliseconds
from penstock.events.v1.event_pb2 import Clock, DeviceTime, Event

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME_LIMIT_US = 253_402_300_800_000_000  # the year 10000


def time_text(time_us: int, zone: tzinfo | None = UTC) -> str:
    """A moment to the microsecond; None: the zone of this machine."""
    if not 0 < time_us < _TIME_LIMIT_US:
        return f"{time_us} µs"
    moment = (_EPOCH + timedelta(microseconds=time_us)).astimezone(zone)
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f") + ("Z" if zone is UTC else moment.strftime("%z"))


def moment_us(text: str, now_us: int) -> int:
    """A moment as `--jsonl` takes it and `tail` shows it, or how long ago (15m). ValueError: it is neither."""
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        return now_us - milliseconds(text) * 1000
    except ValueError:  # not a span, then a moment
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(
            f"{excerpt(text)!r} is no time; write 2026-11-16T03:00:00Z, 15m for a quarter of an hour ago, or"
            " microseconds since 1970"
        ) from error
    if moment.tzinfo is None:
        raise ValueError(f"{excerpt(text)!r} has no time zone; write {moment.isoformat()}Z for UTC")
    return reading_of(moment).wall_us


def span_text(span_us: int) -> str:
    """A length of time in the unit that reads best."""
    size = abs(span_us)
    for limit, unit, per_unit in ((1000, "µs", 1), (1_000_000, "ms", 1000), (120_000_000, "s", 1_000_000)):
        if size < limit:
            return f"{span_us / per_unit:.3g} {unit}"
    hours = size >= 2 * 3_600_000_000
    return f"{span_us / (3_600_000_000 if hours else 60_000_000):.3g} {'h' if hours else 'min'}"


def bound_text(error_bound_us: int | None) -> str:
    """How wrong a time may be."""
    return "± ?" if error_bound_us is None else f"± {span_text(error_bound_us)}"


def clock_text(clock: ClockEstimate) -> str:
    """What the server thinks of a device's clock. A steady clock has any offset, so only its bound says something."""
    return f"times of this device are known {bound_text(clock.error_bound_us)} ({clock.method})"


def bound_us(clock: Clock) -> int | None:
    """How wrong the corrected time may be; None: nothing bounds it."""
    return clock.error_bound_us if clock.HasField("error_bound_us") else None


def time_fields(event: Event, clock: Clock) -> dict[str, Any]:
    """The three times, the corrected one, and how it was found; null where something is not known."""
    domain = domain_name(clock.domain)
    return {
        "occurred_us": _readings(event.occurred) if event.HasField("occurred") else None,
        "sent_us": _readings(clock.sent) if clock.HasField("sent") else None,
        "received_us": clock.received_us or None,
        "corrected": time_text(clock.corrected_us),
        "corrected_us": clock.corrected_us,
        "error_bound_us": bound_us(clock),
        "method": method_name(clock.method),
        "domain": domain,
        "offset_us": None if domain is None else clock.offset_us,
        "clamped": clock.clamped,
        "spans_clock_set": clock.spans_clock_set,
    }


def _readings(moment: DeviceTime) -> dict[str, int | None]:
    """What the device said, by each of its clocks; a wall clock of 0 or less means that it does not know."""
    steady_us = moment.steady_us if moment.HasField("steady_us") else None
    return {"wall": moment.wall_us if moment.wall_us > 0 else None, "steady": steady_us}
