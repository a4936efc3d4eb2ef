"""Lists of 32-bit numbers that grow and shrink, in blocks of several sizes, without gaps between them.

An arena is made of slabs of equal size, and a slab of blocks of one kind. Where a block is given back, the last block
of its kind takes its place, so that all slabs but the last of each kind are full; an empty slab serves any kind. For that a block has one word in front: its owner, whose note of where the block is (`owners`) is changed when it moves.
So memory is what the lists need, whatever they were before. Blocks that are larger than a slab take 2^n slabs in a row,
are not moved, and are used again for their own kind only.
Compiled. Whoever takes a block has asked `fits` before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.store.layout import NONE, Blocks, Bool, Int
from penstock.wire.fields import jit

# Places in Blocks.heads; then for each kind the newest slab, and how many blocks of it are taken.
SLABS_USED, SLAB_FREE, SLAB_WORDS, KINDS = 0, 1, 2, 3


def empty_blocks(slab_words: int, sizes: list[int], slabs: int) -> Blocks:
    heads = np.full(KINDS + 2 * len(sizes), NONE, np.int64)
    heads[SLABS_USED], heads[SLAB_WORDS] = 0, slab_words
    words, links = np.empty(slabs * slab_words, np.uint32), np.empty(slabs, np.int32)
    return Blocks(words, links, heads, np.array(sizes, np.int64))


def grown(blocks: Blocks, slabs: int) -> Blocks:
    """With room for so many slabs at least."""
    slabs = max(slabs, 2 * blocks.links.size)
    used, slab_words = int(blocks.heads[SLABS_USED]), int(blocks.heads[SLAB_WORDS])
    words, links = np.empty(slabs * slab_words, np.uint32), np.empty(slabs, np.int32)
    words[: used * slab_words] = blocks.words[: used * slab_words]
    links[:used] = blocks.links[:used]
    return blocks._replace(words=words, links=links)


@jit
def kind_for(blocks: Blocks, count: Int) -> Int:
    """The smallest kind of block that has room for so many; NONE if there is none."""
    for kind in range(blocks.sizes.size):
        if blocks.sizes[kind] >= count:
            return kind
    return NONE


@jit
def slabs_for(blocks: Blocks, kind: Int) -> Int:
    """How many slabs in a row a block takes; 1 also where it shares one."""
    return max((blocks.sizes[kind] + 1) // blocks.heads[SLAB_WORDS], 1)


@jit
def fits(blocks: Blocks, kind: Int) -> Bool:
    """Whether there is room for a block of this kind."""
    slabs = slabs_for(blocks, kind)
    if blocks.heads[SLABS_USED] + slabs <= blocks.links.size:
        return True
    if slabs > 1:
        return blocks.heads[KINDS + 2 * kind] != NONE
    return blocks.heads[SLAB_FREE] != NONE


@jit
def take_block(blocks: Blocks, kind: Int, owner: Int) -> Int:
    """Where the block's numbers begin."""
    heads, links = blocks.heads, blocks.links
    slab_words, words = heads[SLAB_WORDS], blocks.sizes[kind] + 1
    slabs = slabs_for(blocks, kind)
    slab = heads[KINDS + 2 * kind]
    used = heads[KINDS + 2 * kind + 1]
    if slabs > 1:
        if slab != NONE:
            heads[KINDS + 2 * kind] = links[slab]
        else:
            slab = heads[SLABS_USED]
            heads[SLABS_USED] += slabs
        used = 0
    else:
        if slab == NONE or used == slab_words // words:
            fresh = heads[SLAB_FREE]
            if fresh != NONE:
                heads[SLAB_FREE] = links[fresh]
            else:
                fresh = heads[SLABS_USED]
                heads[SLABS_USED] += 1
            links[fresh] = slab
            heads[KINDS + 2 * kind] = fresh
            slab = fresh
            used = 0
        heads[KINDS + 2 * kind + 1] = used + 1
    at = slab * slab_words + used * words
    blocks.words[at] = owner
    return at + 1


@jit
def give_block(blocks: Blocks, kind: Int, begin: Int, owners: NDArray[np.int64]) -> None:
    """Back. Moves another block of its kind into its place."""
    heads, links = blocks.heads, blocks.links
    slab_words, words = heads[SLAB_WORDS], blocks.sizes[kind] + 1
    at = begin - 1
    slab = heads[KINDS + 2 * kind]
    if slabs_for(blocks, kind) > 1:
        links[at // slab_words] = slab
        heads[KINDS + 2 * kind] = at // slab_words
        return
    used = heads[KINDS + 2 * kind + 1] - 1
    last = slab * slab_words + used * words
    if last != at:
        for index in range(words):
            blocks.words[at + index] = blocks.words[last + index]
        owners[blocks.words[at]] = begin
    if used == 0:
        heads[KINDS + 2 * kind] = links[slab]
        links[slab] = heads[SLAB_FREE]
        heads[SLAB_FREE] = slab
        used = slab_words // words if heads[KINDS + 2 * kind] != NONE else 0
    heads[KINDS + 2 * kind + 1] = used
