"""Numbers, spans and moments as people read them. Pure."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE_US = 60_000_000
_DAY_US = 86_400_000_000
# The least span in which a unit is used, the unit, its length.
_UNITS = (
    (365 * _DAY_US, "y", 365 * _DAY_US),
    (2 * _DAY_US, "d", _DAY_US),
    (120 * _MINUTE_US, "h", 60 * _MINUTE_US),
    (2 * _MINUTE_US, "min", _MINUTE_US),
    (1_000_000, "s", 1_000_000),
    (1_000, "ms", 1_000),
)
_BARS = "▁▂▃▄▅▆▇█"
NOTHING = "–"


def span(span_us: int | None) -> str:
    """For example 4.1 ms, 23 s, 1.1 y: two digits that count."""
    if span_us is None:
        return NOTHING
    for least, unit, length in _UNITS:
        if abs(span_us) >= least:
            value = span_us / length
            return f"{value:.0f} {unit}" if abs(value) >= 9.95 else f"{value:.1f} {unit}"
    return f"{span_us} µs"


def count(number: int) -> str:
    """For example 13,020; from a million on for example 1.2 M."""
    if number < 1_000_000:
        return f"{number:,}"
    millions = number / 1_000_000
    return f"{millions:,.0f} M" if millions >= 9.95 else f"{millions:.1f} M"


def bound(bound_us: int | None) -> str:
    return "± ?" if bound_us is None else f"± {span(bound_us)}"


def clock_time(time_us: int) -> str:
    """The time of day, UTC, to the millisecond."""
    return _moment(time_us).strftime("%H:%M:%S.%f")[:-3]


def claimed_time(claimed_us: int, corrected_us: int) -> str:
    """What a clock claimed, with its date where that is another one."""
    try:
        claimed = _moment(claimed_us)
    except OverflowError:
        return "no time at all"
    if claimed.date() == _moment(corrected_us).date():
        return clock_time(claimed_us)
    return claimed.strftime("%Y-%m-%d %H:%M")


def percent(share: float | None) -> str:
    """Rounded down, so that 100.00 % means all."""
    return NOTHING if share is None else f"{int(share * 10_000) / 100:.2f} %"


def elapsed(seconds: float) -> str:
    """For example 00:17."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def printable(line: str) -> str:
    """A foreign line without tabs and control characters, which would move the cursor or change colours."""
    return "".join(char if char.isprintable() else " " for char in line.expandtabs(4))


def cut(line: str, width: int) -> str:
    """At most so many columns; an ellipsis says that there was more."""
    return line if len(line) <= width else f"{line[: max(0, width - 1)]}…"


def sparkline(values: Sequence[int], width: int) -> str:
    """The newest values as bars; the greatest of them is a full one."""
    newest = values[-width:] if width > 0 else ()
    top = max(newest, default=0)
    return "".join(_BARS[value * (len(_BARS) - 1) // top] if top else _BARS[0] for value in newest)


def _moment(time_us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=time_us)
