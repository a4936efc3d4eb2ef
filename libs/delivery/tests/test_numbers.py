from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.delivery.numbers import (
    outbox_number,
    packed,
    partition_of,
    partition_starts,
    post_number,
    unpacked,
    user_number,
)


def test_that_numbers_never_change_because_logs_and_snapshots_hold_them() -> None:
    assert user_number("ann") == 17577433181673155845
    assert outbox_number("ann") == 4303430374725822873
    assert post_number("ann", "p1") == 12710352910314523339


def test_that_a_user_an_outbox_and_a_post_of_one_name_differ() -> None:
    assert len({user_number("a"), outbox_number("a"), post_number("a", ""), post_number("", "a")}) == 4


def test_that_author_and_id_cannot_be_mistaken_for_each_other() -> None:
    assert post_number("ab", "c") != post_number("a", "bc")


@given(st.integers(0, 2**64 - 1), st.integers(1, 1000))
def test_that_partitions_are_ranges_of_numbers(number: int, partitions: int) -> None:
    starts = partition_starts(partitions)
    partition = partition_of(number, partitions)
    assert 0 <= partition < partitions
    assert partition == np.searchsorted(starts, np.uint64(number), side="right") - 1


def test_that_numbers_survive_packing() -> None:
    numbers = np.array([0, 1, 2**64 - 1], np.uint64)
    assert unpacked(packed(numbers)).tolist() == numbers.tolist()
    assert packed(np.array([1], np.uint64)) == b"\x01" + b"\0" * 7


def test_that_a_broken_number_is_refused() -> None:
    with pytest.raises(ValueError):
        unpacked(b"1234567")
