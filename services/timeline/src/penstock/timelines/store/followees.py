"""Whom a user follows: a list of authors in ascending order of their rows.

Compiled. `add_followee` needs `room_for_followee` asked before.
"""

from __future__ import annotations

import numpy as np
from penstock.timelines.store.blocks import WORDS_AT, block_size, fits, give_block, kind_for, take_block
from penstock.timelines.store.compiled import jit
from penstock.timelines.store.layout import NONE, Bool, Int, followees, user_at
from penstock.timelines.store.memory import half, move, put_half
from penstock.wire.memory import word


@jit
def followees_at(s: Int, row: Int) -> Int:
    """The address of the list."""
    return word(followees(s), WORDS_AT) + 4 * user_at(s, row)["followees_block"]


@jit
def followee_position(s: Int, row: Int, author: Int) -> Int:
    """How many authors of the list come before this one."""
    begin = followees_at(s, row)
    low, high = 0, user_at(s, row)["followees"]
    while low < high:
        middle = (low + high) >> 1
        if half(begin, middle) < author:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def full(s: Int, row: Int) -> Bool:
    user = user_at(s, row)
    return user["followees_kind"] == NONE or user["followees"] == block_size(
        followees(s), np.int64(user["followees_kind"])
    )


@jit
def room_for_followee(s: Int, row: Int) -> Bool:
    arena = followees(s)
    return not full(s, row) or fits(arena, kind_for(arena, user_at(s, row)["followees"] + 1))


@jit
def set_followees_room(s: Int, row: Int, kind: Int) -> None:
    """Moves the list into a block of this kind, or gives the block back: NONE."""
    user, arena = user_at(s, row), followees(s)
    before, block, words = user["followees_kind"], user["followees_block"], word(arena, WORDS_AT)
    moved = NONE
    if kind != NONE:
        moved = take_block(arena, kind, row)
        move(words + 4 * moved, words + 4 * block, 4 * user["followees"])
    user["followees_block"] = moved
    user["followees_kind"] = kind
    if before != NONE:
        give_block(arena, np.int64(before), block)


@jit
def add_followee(s: Int, row: Int, author: Int) -> Bool:
    """Whether it is new."""
    user = user_at(s, row)
    count = user["followees"]
    at = followee_position(s, row, author)
    if at < count and half(followees_at(s, row), at) == author:
        return False
    if full(s, row):
        set_followees_room(s, row, kind_for(followees(s), count + 1))
    begin = followees_at(s, row)
    move(begin + 4 * (at + 1), begin + 4 * at, 4 * (count - at))
    put_half(begin, at, author)
    user["followees"] = count + 1
    return True


@jit
def remove_followee(s: Int, row: Int, author: Int) -> Bool:
    """Whether it was there."""
    user, begin = user_at(s, row), followees_at(s, row)
    count = user["followees"]
    at = followee_position(s, row, author)
    if at == count or half(begin, at) != author:
        return False
    move(begin + 4 * at, begin + 4 * (at + 1), 4 * (count - 1 - at))
    user["followees"] = count - 1
    shrink_followees(s, row)
    return True


@jit
def shrink_followees(s: Int, row: Int) -> None:
    """Gives back what is too much."""
    user, arena = user_at(s, row), followees(s)
    count = user["followees"]
    if count == 0:
        if user["followees_kind"] != NONE:
            set_followees_room(s, row, NONE)
    elif 4 * count < block_size(arena, np.int64(user["followees_kind"])):
        kind = kind_for(arena, count + count // 2)
        if kind < user["followees_kind"] and fits(arena, kind):
            set_followees_room(s, row, kind)
