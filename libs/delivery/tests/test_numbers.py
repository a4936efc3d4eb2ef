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
    post_key,
    post_number,
    unpacked,
    user_number,
)


def test_that_numbers_never_change_because_logs_and_snapshots_hold_them() -> None:
    assert user_number("ann") == 17577433181673155845
    assert outbox_number("ann") == 4303430374725822873
    assert post_key("ann", "p1") == 12710352910314523339
    assert post_number(post_key("ann", "p1"), 1_000_000, b"device") == 13706748878585605474


def test_that_a_user_an_outbox_and_a_post_of_one_name_differ() -> None:
    assert len({user_number("a"), outbox_number("a"), post_key("a", ""), post_key("", "a")}) == 4


def test_that_author_and_id_cannot_be_mistaken_for_each_other() -> None:
    assert post_key("ab", "c") != post_key("a", "bc")


def test_that_versions_of_a_post_differ() -> None:
    key = post_key("ann", "p1")
    assert len({key, post_number(key, 1, b"a"), post_number(key, 2, b"a"), post_number(key, 1, b"b")}) == 4
    assert post_number(key, -1, b"a") != post_number(key, 1, b"a")


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
