"""Followees against sets of Python."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from penstock.timelines.store.blocks import kind_for, slabs_for
from penstock.timelines.store.columns import Columns
from penstock.timelines.store.followees import add_followee, remove_followee, room_for_followee
from penstock.timelines.store.layout import FOLLOWEES
from penstock.timelines.store.rows import new_user
from penstock.timelines.store.values import Shape


class Lists:
    def __init__(self, users: int) -> None:
        self.columns, self.sets = Columns(0, Shape(4, 2, 1, 1), 0), [set[int]() for _ in range(users)]
        for number in range(users):
            new_user(self.columns.s, number)

    def add(self, row: int, author: int) -> None:
        columns = self.columns
        if not room_for_followee(columns.s, row):
            arena = columns.s + 8 * FOLLOWEES
            columns.want_followees(slabs_for(arena, kind_for(arena, len(self.sets[row]) + 1)))
        assert bool(add_followee(columns.s, row, author)) == (author not in self.sets[row])
        self.sets[row].add(author)

    def remove(self, row: int, author: int) -> None:
        assert bool(remove_followee(self.columns.s, row, author)) == (author in self.sets[row])
        self.sets[row].discard(author)

    def check(self) -> None:
        for row, followees in enumerate(self.sets):
            user = self.columns.users[row]
            block = int(user["followees_block"])
            words = self.columns.followees.words[block : block + int(user["followees"])]
            assert words.tolist() == sorted(followees)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30), st.booleans()), max_size=200))
def test_followees_are_sets(steps: list[tuple[int, int, bool]]) -> None:
    lists = Lists(5)
    for row, author, add in steps:
        (lists.add if add else lists.remove)(row, author)
    lists.check()


def test_some_follow_very_many() -> None:
    lists, random = Lists(3), Random(1)
    for row, count in ((0, 20_000), (1, 9_000), (2, 5)):
        for author in random.sample(range(1 << 20), count):
            lists.add(row, author)
    lists.check()
    for author in random.sample(sorted(lists.sets[0]), 19_990):
        lists.remove(0, author)
    lists.add(1, 1 << 21)
    lists.check()
    assert int(np.max(lists.columns.users["followees"][:3])) == 9_001
