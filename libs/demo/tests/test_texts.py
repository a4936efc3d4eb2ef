import pytest
from penstock.demo import texts

NOON_US = 1_790_078_400_000_000  # 2026-09-22 12:00 UTC
SECOND_US = 1_000_000
DAY_US = 86_400 * SECOND_US


@pytest.mark.parametrize(
    ("span_us", "text"),
    [
        (None, "–"),
        (0, "0 µs"),
        (999, "999 µs"),
        (4_130, "4.1 ms"),
        (137_000, "137 ms"),
        (9_960, "10 ms"),
        (6_200_000, "6.2 s"),
        (90 * SECOND_US, "90 s"),
        (11 * 60 * SECOND_US, "11 min"),
        (5 * 3_600 * SECOND_US, "5.0 h"),
        (274 * DAY_US, "274 d"),
        (400 * DAY_US, "1.1 y"),
        (-4_130, "-4.1 ms"),
    ],
)
def test_spans_have_two_digits_that_count(span_us: int | None, text: str) -> None:
    assert texts.span(span_us) == text


def test_a_bound_that_nothing_gives_is_open() -> None:
    assert texts.bound(None) == "± ?"
    assert texts.bound(38_000) == "± 38 ms"


def test_a_claim_of_another_day_shows_its_date() -> None:
    assert texts.claimed_time(NOON_US + 1_500, NOON_US) == "12:00:00.001"
    assert texts.claimed_time(NOON_US + DAY_US, NOON_US) == "2026-09-23 12:00"
    assert texts.claimed_time(1 << 62, NOON_US) == "no time at all"


def test_only_all_is_a_hundred_percent() -> None:
    assert texts.percent(1.0) == "100.00 %"
    assert texts.percent(0.99999) == "99.99 %"
    assert texts.percent(None) == "–"


def test_elapsed_time() -> None:
    assert texts.elapsed(17.9) == "00:17"
    assert texts.elapsed(3_661) == "1:01:01"


def test_lines_are_cut_to_a_width() -> None:
    assert texts.cut("12345", 5) == "12345"
    assert texts.cut("123456", 5) == "1234…"
    assert texts.printable("a\tb\x1b[0mä") == "a   b [0mä"


def test_a_sparkline_shows_the_newest() -> None:
    assert texts.sparkline([9, 0, 7, 14], 3) == "▁▄█"
    assert texts.sparkline([0, 0], 5) == "▁▁"
    assert texts.sparkline([], 5) == ""
    assert texts.sparkline([1], 0) == ""


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (13_020, "13,020"),
        (999_999, "999,999"),
        (1_250_000, "1.2 M"),
        (9_960_000, "10 M"),
        (10**10, "10,000 M"),
    ],
)
def test_counts_have_a_width(number: int, text: str) -> None:
    assert texts.count(number) == text
