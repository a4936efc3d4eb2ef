"""Lists of 32-bit numbers that grow and shrink, in blocks of several sizes, without gaps between them.

An arena is made of slabs of equal size, and a slab of blocks of one kind. Where a block is given back, the last block
of its kind takes its place, so that all slabs but the last of each kind are full; a slab that is empty serves any kind.
For that a block has one word in front: its owner, whose note of where the block is must be changed when it moves. So
memory is what the lists need, whatever they were before. Blocks that are larger than a slab take 2^n slabs in a row,
are not moved, and are used again for their own kind only.
Compiled; `b` is the address of the arena's table. Whoever takes a block has asked `fits` before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.store.compiled import jit
from penstock.timelines.store.layout import NONE, USER, Bool, Int
from penstock.timelines.store.memory import half, move, put_half
from penstock.wire.memory import put, word

# The table of an arena. NOTES_AT: where rows of users note the block of the first of them.
WORDS_AT, LINKS_AT, HEADS_AT, SIZES_AT, KINDS, SLABS, NOTES_AT = 0, 1, 2, 3, 4, 5, 6
# The heads; then for each kind the newest slab, and how many blocks of it are taken.
SLABS_USED, SLAB_FREE, SLAB_WORDS, KIND_HEADS = 0, 1, 2, 3
_USER_WORDS = USER.itemsize // 8


class Blocks(NamedTuple):
    """An arena's arrays."""

    words: NDArray[np.uint32]
    links: NDArray[np.int32]  # by slab: the one before of its kind, or the next free one
    heads: NDArray[np.int64]
    sizes: NDArray[np.int64]  # by kind: how many numbers a block has room for, ascending

    @property
    def slabs_used(self) -> int:
        return int(self.heads[SLABS_USED])

    @property
    def slab_words(self) -> int:
        return int(self.heads[SLAB_WORDS])

    def table(self, notes_at: int) -> list[int]:
        arrays: list[NDArray[Any]] = [self.words, self.links, self.heads, self.sizes]
        return [*(array.ctypes.data for array in arrays), self.sizes.size, self.links.size, notes_at]


def empty_blocks(slab_words: int, sizes: list[int], slabs: int) -> Blocks:
    heads = np.full(KIND_HEADS + 2 * len(sizes), NONE, np.int64)
    heads[SLABS_USED], heads[SLAB_WORDS] = 0, slab_words
    words, links = np.empty(slabs * slab_words, np.uint32), np.empty(slabs, np.int32)
    return Blocks(words, links, heads, np.array(sizes, np.int64))


def grown(blocks: Blocks, slabs: int) -> Blocks:
    """With room for so many slabs at least, and for twice as many as before."""
    slabs = max(slabs, 2 * blocks.links.size)
    words, links = np.empty(slabs * blocks.slab_words, np.uint32), np.empty(slabs, np.int32)
    words[: blocks.slabs_used * blocks.slab_words] = blocks.words[: blocks.slabs_used * blocks.slab_words]
    links[: blocks.slabs_used] = blocks.links[: blocks.slabs_used]
    return blocks._replace(words=words, links=links)


@jit
def block_size(b: Int, kind: Int) -> Int:
    """How many numbers a block has room for."""
    return word(word(b, SIZES_AT), kind)


@jit
def kind_for(b: Int, count: Int) -> Int:
    """The smallest kind of block that has room for so many."""
    kind = np.int64(0)
    while block_size(b, kind) < count:
        kind += 1
    return kind


@jit
def slabs_for(b: Int, kind: Int) -> Int:
    """How many slabs in a row a block takes; 1 also where it shares one."""
    return max((block_size(b, kind) + 1) // word(word(b, HEADS_AT), SLAB_WORDS), 1)


@jit
def fits(b: Int, kind: Int) -> Bool:
    """Whether there is room for a block of this kind."""
    heads, slabs = word(b, HEADS_AT), slabs_for(b, kind)
    if word(heads, SLABS_USED) + slabs <= word(b, SLABS):
        return True
    return word(heads, KIND_HEADS + 2 * kind if slabs > 1 else SLAB_FREE) != NONE


@jit
def take_slabs(b: Int, count: Int) -> Int:
    heads = word(b, HEADS_AT)
    slab = word(heads, SLABS_USED)
    put(heads, SLABS_USED, slab + count)
    return slab


@jit
def take_block(b: Int, kind: Int, owner: Int) -> Int:
    """Where the block's numbers begin."""
    heads, links = word(b, HEADS_AT), word(b, LINKS_AT)
    slab_words, words = word(heads, SLAB_WORDS), block_size(b, kind) + 1
    slabs, mine = slabs_for(b, kind), KIND_HEADS + 2 * kind
    slab, used = word(heads, mine), word(heads, mine + 1)
    if slabs > 1:
        if slab == NONE:
            slab = take_slabs(b, slabs)
        else:
            put(heads, mine, half(links, slab))
        used = 0
    else:
        if slab == NONE or used == slab_words // words:
            fresh = word(heads, SLAB_FREE)
            if fresh == NONE:
                fresh = take_slabs(b, np.int64(1))
            else:
                put(heads, SLAB_FREE, half(links, fresh))
            put_half(links, fresh, slab)
            put(heads, mine, fresh)
            slab, used = fresh, 0
        put(heads, mine + 1, used + 1)
    at = slab * slab_words + used * words
    put_half(word(b, WORDS_AT), at, owner)
    return at + 1


@jit
def give_block(b: Int, kind: Int, begin: Int) -> None:
    """Back. Moves another block of its kind into its place."""
    heads, links, base = word(b, HEADS_AT), word(b, LINKS_AT), word(b, WORDS_AT)
    slab_words, words = word(heads, SLAB_WORDS), block_size(b, kind) + 1
    mine, at = KIND_HEADS + 2 * kind, begin - 1
    slab = word(heads, mine)
    if slabs_for(b, kind) > 1:
        put_half(links, at // slab_words, slab)
        put(heads, mine, at // slab_words)
        return
    used = word(heads, mine + 1) - 1
    last = slab * slab_words + used * words
    if last != at:
        move(base + 4 * at, base + 4 * last, 4 * words)
        put(word(b, NOTES_AT), half(base, at) * _USER_WORDS, begin)
    if used == 0:
        below = half(links, slab)
        put(heads, mine, below)
        put_half(links, slab, word(heads, SLAB_FREE))
        put(heads, SLAB_FREE, slab)
        used = slab_words // words if below != NONE else 0
    put(heads, mine + 1, used)
