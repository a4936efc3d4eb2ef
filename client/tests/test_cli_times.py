from __future__ import annotations

from datetime import timedelta, timezone

import pytest
from penstock.client.cli.times import clock_text, moment_us, span_text, time_fields, time_text
from penstock.client.estimate import ClockEstimate
from penstock.events.v1.event_pb2 import (
    CLOCK_DOMAIN_STEADY,
    CLOCK_METHOD_ECHO,
    CLOCK_METHOD_RECEIVED,
    Clock,
    DeviceTime,
    Event,
)

NOON_US = 1_767_268_800_000_000  # 2026-01-01 12:00 UTC
HOUR_US = 3_600_000_000


@pytest.mark.parametrize(
    ("span_us", "text"),
    [
        (0, "0 µs"),
        (999, "999 µs"),
        (12_340, "12.3 ms"),
        (1_500_000, "1.5 s"),
        (-90_000_000, "-90 s"),
        (180_000_000, "3 min"),
        (5 * HOUR_US, "5 h"),
    ],
)
def test_spans(span_us: int, text: str) -> None:
    assert span_text(span_us) == text


def test_times() -> None:
    assert time_text(NOON_US + 1) == "2026-01-01 12:00:00.000001Z"
    assert time_text(NOON_US, timezone(timedelta(hours=2))) == "2026-01-01 14:00:00.000000+0200"
    assert time_text(0) == "0 µs"
    assert time_text(1 << 62) == f"{1 << 62} µs"


@pytest.mark.parametrize(("bound_us", "text"), [(1500, "± 1.5 ms"), (0, "± 0 µs"), (None, "± ?")])
def test_clock_of_this_device(bound_us: int | None, text: str) -> None:
    assert clock_text(ClockEstimate("ECHO", "STEADY", 7, bound_us)) == f"times of this device are known {text} (ECHO)"


def test_fields_name_all_that_the_time_was_found_from() -> None:
    event = Event(occurred=DeviceTime(wall_us=5, steady_us=0))
    clock = Clock(
        sent=DeviceTime(wall_us=9, steady_us=4),
        received_us=NOON_US + 10,
        corrected_us=NOON_US,
        error_bound_us=0,
        method=CLOCK_METHOD_ECHO,
        domain=CLOCK_DOMAIN_STEADY,
        offset_us=NOON_US,
        clamped=True,
        spans_clock_set=True,
    )
    assert time_fields(event, clock) == {
        "occurred_us": {"wall": 5, "steady": 0},
        "sent_us": {"wall": 9, "steady": 4},
        "received_us": NOON_US + 10,
        "corrected": "2026-01-01 12:00:00.000000Z",
        "corrected_us": NOON_US,
        "error_bound_us": 0,
        "method": "ECHO",
        "domain": "STEADY",
        "offset_us": NOON_US,
        "clamped": True,
        "spans_clock_set": True,
    }


def test_what_is_not_known_is_null_and_not_zero() -> None:
    clock = Clock(sent=DeviceTime(), received_us=NOON_US, corrected_us=NOON_US, method=CLOCK_METHOD_RECEIVED)
    fields = time_fields(Event(), clock)
    assert fields["sent_us"] == {"wall": None, "steady": None}
    assert [fields[name] for name in ("occurred_us", "error_bound_us", "domain", "offset_us")] == [None] * 4


@pytest.mark.parametrize(
    ("text", "expected_us"),
    [
        ("2026-01-01T12:00:00Z", NOON_US),
        ("2026-01-01 12:00:00.000001Z", NOON_US + 1),
        ("2026-01-01T14:00:00+02:00", NOON_US),
        (str(NOON_US), NOON_US),
        ("1h", NOON_US - HOUR_US),
        ("0s", NOON_US),
    ],
)
def test_moments_as_people_type_them(text: str, expected_us: int) -> None:
    assert moment_us(text, now_us=NOON_US) == expected_us


def test_what_is_shown_can_be_typed() -> None:
    assert moment_us(time_text(NOON_US + 123_456), now_us=0) == NOON_US + 123_456


@pytest.mark.parametrize("text", ["", "soon", "1x", "-5m", "²"])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(ValueError, match="is no time"):
        moment_us(text, now_us=NOON_US)
