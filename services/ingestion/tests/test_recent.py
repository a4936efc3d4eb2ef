from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from penstock.ingestion.recent import IDS_PER_DEVICE, WINDOW, Recent


@given(st.lists(st.lists(st.integers(1, 3 * WINDOW), min_size=1, max_size=20), max_size=12))
def test_it_never_claims_what_it_was_not_told_and_remembers_the_window(batches: list[list[int]]) -> None:
    recent, told = Recent(10), set[int]()
    for batch in batches:
        recent.add_seqs("d", "b", batch)
        told |= set(batch)
    highest = max(told, default=0)
    for seq in range(max(1, highest - WINDOW - 5), highest + 5):
        expected = seq in told and highest - seq < WINDOW
        assert recent.has_seq("d", "b", seq) == expected
    assert not recent.has_seq("d", "other", highest)
    assert not recent.has_seq("other", "b", highest)


@given(st.integers(1, 5_000), st.integers(1, 2 * WINDOW), st.integers(0, 50))
def test_a_range_is_the_same_as_its_numbers(first: int, count: int, gap: int) -> None:
    one, other = Recent(10), Recent(10)
    for recent in (one, other):
        recent.add_seqs("d", "b", [first])
    lowest, highest = first + 1 + gap, first + gap + count
    one.add_range("d", "b", lowest, highest)
    other.add_seqs("d", "b", range(lowest, highest + 1))
    for seq in {first, lowest - 1, lowest, highest, highest + 1, highest - WINDOW, highest - WINDOW + 1}:
        assert one.has_seq("d", "b", seq) == other.has_seq("d", "b", seq)


def test_a_batch_of_new_numbers_is_seen_at_a_glance() -> None:
    recent = Recent(10)
    assert recent.all_new("d", "b", 1)
    recent.add_range("d", "b", 1, 10)
    assert recent.all_new("d", "b", 11)
    assert not recent.all_new("d", "b", 10)


def test_devices_and_ids_are_bounded_and_the_oldest_go_first() -> None:
    recent = Recent(3)
    for device in "abc":
        recent.add_seqs(device, "b", [1])
    recent.add_seqs("a", "b", [2])
    recent.add_seqs("d", "b", [1])
    assert len(recent) == 3
    assert recent.has_seq("a", "b", 1)
    assert not recent.has_seq("b", "b", 1)
    recent.add_ids("a", (str(number) for number in range(IDS_PER_DEVICE + 1)))
    assert not recent.has_id("a", "0")
    assert recent.has_id("a", str(IDS_PER_DEVICE))
