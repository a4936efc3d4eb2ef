from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from penstock.client.reading import Reading, reading_of


def test_datetime_becomes_whole_microseconds() -> None:
    assert reading_of(datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC)) == Reading(1_000_005)
    east = timezone(timedelta(hours=2))
    assert reading_of(datetime(1970, 1, 1, 2, 0, tzinfo=east)) == Reading(0)


def test_datetime_without_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        reading_of(datetime(2026, 1, 1))


def test_reading_passes() -> None:
    assert reading_of(Reading(1, 2)) == Reading(1, 2)
