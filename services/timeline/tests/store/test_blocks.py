"""Blocks against lists of Python: nothing is lost when blocks move, and slabs are as full as they can be."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from penstock.timelines.store.blocks import (
    Blocks,
    block_size,
    empty_blocks,
    fits,
    give_block,
    grown,
    kind_for,
    slabs_for,
    take_block,
)
from penstock.timelines.store.layout import NONE, USER

SIZES = [1, 2, 6, 13, 27]  # of slabs with seven words: three blocks, two, one; then two slabs for one block, and four
SLAB = 7
OWNERS = 40


class Arena:
    """Lists by owner, in blocks."""

    def __init__(self) -> None:
        self.users = np.zeros(OWNERS, USER)
        self.users["kind"] = self.users["block"] = NONE
        self.blocks = empty_blocks(SLAB, SIZES, 1)
        self.lists: dict[int, list[int]] = {}
        self.note()

    def note(self) -> None:
        self.table = np.array(self.blocks.table(self.users["block"].ctypes.data), np.int64)
        self.b = self.table.ctypes.data

    def set(self, owner: int, numbers: list[int]) -> None:
        user = self.users[owner]
        kind = int(user["kind"])
        if numbers:
            wanted = int(kind_for(self.b, len(numbers)))
            while not fits(self.b, wanted):
                slabs = self.blocks.slabs_used + int(slabs_for(self.b, wanted))
                self.blocks = grown(self.blocks, slabs)
                self.note()
            block = take_block(self.b, wanted, owner)
            self.blocks.words[block : block + len(numbers)] = numbers
        before = int(user["block"])
        user["kind"], user["block"] = (wanted, block) if numbers else (NONE, NONE)
        if kind != NONE:
            give_block(self.b, kind, before)
        self.lists[owner] = numbers

    def check(self) -> None:
        for owner, numbers in self.lists.items():
            block = int(self.users[owner]["block"])
            assert self.blocks.words[block : block + len(numbers)].tolist() == numbers
        kinds = [int(self.users[owner]["kind"]) for owner, numbers in self.lists.items() if numbers]
        assert slabs_in_use(self.blocks) == sum(
            -(-kinds.count(kind) // (SLAB // (SIZES[kind] + 1))) for kind in set(kinds) if SIZES[kind] < SLAB
        )


def slabs_in_use(blocks: Blocks) -> int:
    """Of small blocks: those that are in no list of free ones and belong to no large block."""
    small = [kind for kind in range(len(SIZES)) if SIZES[kind] < SLAB]
    found = 0
    for kind in small:
        slab = int(blocks.heads[3 + 2 * kind])
        while slab != NONE:
            found += 1
            slab = int(blocks.links[slab])
    return found


@given(st.lists(st.tuples(st.integers(0, OWNERS - 1), st.integers(0, 27)), max_size=120))
def test_lists_survive_each_others_moves(changes: list[tuple[int, int]]) -> None:
    arena, random = Arena(), Random(0)
    for owner, size in changes:
        arena.set(owner, [random.randrange(1 << 31) for _ in range(size)])
    arena.check()


def test_memory_is_used_again_by_any_kind() -> None:
    arena = Arena()
    for owner in range(OWNERS):
        arena.set(owner, [1])
    slabs = arena.blocks.slabs_used
    for owner in range(OWNERS):
        arena.set(owner, [])
    for owner in range(slabs):
        arena.set(owner, [1, 2, 3, 4, 5, 6])
    assert arena.blocks.slabs_used == slabs
    arena.check()


def test_kinds_of_blocks() -> None:
    arena = Arena()
    assert [int(kind_for(arena.b, count)) for count in (1, 2, 3, 6, 7, 27)] == [0, 1, 2, 2, 3, 4]
    assert [int(slabs_for(arena.b, kind)) for kind in range(5)] == [1, 1, 1, 2, 4]
    assert int(block_size(arena.b, 4)) == 27
