from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from penstock.enrichment.join.seen import IDS_MAX, RANGES_MAX, Ranges, Seen, Verdict


@given(st.lists(st.integers(1, 60), max_size=200))
def test_ranges_are_a_set_of_numbers(numbers: list[int]) -> None:
    ranges, oracle = Ranges(), set[int]()
    for number in numbers:
        assert ranges.add(number) is (Verdict.DUPLICATE if number in oracle else Verdict.NEW)
        oracle.add(number)
    edges = ranges.edges
    assert edges == sorted(edges)
    lows, highs = edges[::2], edges[1::2]
    assert {n for low, high in zip(lows, highs, strict=True) for n in range(low, high + 1)} == oracle
    assert all(low > high + 1 for high, low in zip(highs, lows[1:], strict=False)), "neighbours were not joined"


def test_a_forgotten_gap_is_unknown_never_taken_twice() -> None:
    ranges = Ranges()
    for number in range(1, 2 * RANGES_MAX + 40, 2):
        ranges.add(number)
    assert len(ranges.edges) == 2 * RANGES_MAX
    assert ranges.add(2) is Verdict.UNKNOWN
    assert ranges.add(1) is Verdict.UNKNOWN
    assert ranges.add(2 * RANGES_MAX) is Verdict.NEW  # a gap that is still known


@given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(1, 30), max_size=10)), max_size=20))
def test_only_what_was_committed_counts(transactions: list[tuple[bool, list[int]]]) -> None:
    seen, committed = Seen(10), set[int]()
    for commits, numbers in transactions:
        staged = set(committed)
        for number in numbers:
            expected = Verdict.DUPLICATE if number in staged else Verdict.NEW
            assert seen.take("d", "b", number) is expected
            staged.add(number)
        if commits:
            seen.commit()
            committed = staged
        else:
            seen.rollback()


@given(st.lists(st.lists(st.integers(1, 40), min_size=1, max_size=10), max_size=10))
def test_the_changelog_restores_it(transactions: list[list[int]]) -> None:
    seen, restored = Seen(10), Seen(10)
    for numbers in transactions:
        for number in numbers:
            seen.take("d", "b", number)
        for (device_id, boot_id), ranges in seen.staged_ranges():
            restored.restore(device_id, boot_id, ranges.copy())
        seen.commit()
    for number in range(1, 42):
        assert seen.take("d", "b", number) is restored.take("d", "b", number)


def test_boots_are_bounded_and_their_end_is_told() -> None:
    seen = Seen(2)
    for boot in "abc":
        seen.take("d", boot, 1)
        ending = seen.excess()
        seen.commit()
    assert ending == [("d", "a")]
    assert len(seen) == 2
    seen.take("d", "b", 2)
    seen.take("d", "new", 1)
    assert seen.excess() == [("d", "c")]


def test_ids_are_known_up_to_a_number() -> None:
    seen = Seen(10)
    assert [seen.take_id("d", "x"), seen.take_id("d", "x"), seen.take_id("other", "x")] == [
        Verdict.NEW,
        Verdict.DUPLICATE,
        Verdict.NEW,
    ]
    for number in range(IDS_MAX):
        seen.take_id("d", str(number))
    ((device_id, ids), _) = seen.staged_ids()
    assert (device_id, len(ids)) == ("d", IDS_MAX)
    restored = Seen(10)
    restored.restore_ids(device_id, ids)
    assert restored.take_id("d", "0") is Verdict.DUPLICATE
    assert restored.take_id("d", "x") is Verdict.NEW


def test_devices_without_numbers_are_as_bounded_as_boots() -> None:
    seen = Seen(boots_max=3)
    for number in range(10):
        seen.take_id(f"d{number}", "an id")
        if number >= 3:
            assert seen.excess_ids() == [f"d{number - 3}"]
        seen.commit()
    assert len(seen) == 3
    assert seen.take_id("d9", "an id") is Verdict.DUPLICATE
    assert seen.take_id("d0", "an id") is Verdict.NEW
    seen.restore_ids("d9", None)
    seen.rollback()
    assert seen.take_id("d9", "an id") is Verdict.NEW
