"""Whom a user follows: a list of authors in ascending order of their rows.

Compiled. `add_followee` needs `room_for_followee` asked before.
"""

from __future__ import annotations

import numpy as np
from penstock.timelines.store.blocks import fits, give_block, kind_for, take_block
from penstock.timelines.store.layout import NONE, Bool, Int, State
from penstock.wire.fields import jit


@jit
def followee_position(s: State, row: Int, author: Int) -> Int:
    """How many authors of the list come before this one."""
    user = s.users[row]
    words, block = s.followees.words, user["followees_block"]
    low, high = np.int64(0), np.int64(user["followees"])
    while low < high:
        middle = (low + high) >> 1
        if words[block + middle] < author:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def follows(s: State, row: Int, author: Int) -> Bool:
    at = followee_position(s, row, author)
    user = s.users[row]
    return at < user["followees"] and s.followees.words[user["followees_block"] + at] == author


@jit
def full(s: State, row: Int) -> Bool:
    user = s.users[row]
    return user["followees_kind"] == NONE or user["followees"] == s.followees.sizes[user["followees_kind"]]


@jit
def room_for_followee(s: State, row: Int) -> Bool:
    return not full(s, row) or fits(s.followees, kind_for(s.followees, np.int64(s.users[row]["followees"]) + 1))


@jit
def set_followees_room(s: State, row: Int, kind: Int) -> None:
    user = s.users[row]
    before, block = user["followees_kind"], user["followees_block"]
    moved = take_block(s.followees, kind, row) if kind != NONE else NONE
    if kind != NONE:
        for index in range(user["followees"]):
            s.followees.words[moved + index] = s.followees.words[block + index]
    user["followees_block"] = moved
    user["followees_kind"] = kind
    if before != NONE:
        give_block(s.followees, before, block, s.users["followees_block"])


@jit
def add_followee(s: State, row: Int, author: Int) -> Bool:
    """Whether it is new."""
    if follows(s, row, author):
        return False
    if full(s, row):
        set_followees_room(s, row, kind_for(s.followees, np.int64(s.users[row]["followees"]) + 1))
    at = followee_position(s, row, author)
    user = s.users[row]
    words, block = s.followees.words, user["followees_block"]
    for index in range(user["followees"], at, -1):
        words[block + index] = words[block + index - 1]
    words[block + at] = author
    user["followees"] += 1
    return True


@jit
def remove_followee(s: State, row: Int, author: Int) -> Bool:
    """Whether it was there."""
    if not follows(s, row, author):
        return False
    at = followee_position(s, row, author)
    user = s.users[row]
    words, block = s.followees.words, user["followees_block"]
    for index in range(at, user["followees"] - 1):
        words[block + index] = words[block + index + 1]
    user["followees"] -= 1
    shrink_followees(s, row)
    return True


@jit
def shrink_followees(s: State, row: Int) -> None:
    """Gives back what is too much."""
    user = s.users[row]
    count = np.int64(user["followees"])
    if count == 0:
        if user["followees_kind"] != NONE:
            set_followees_room(s, row, NONE)
    elif 4 * count < s.followees.sizes[user["followees_kind"]]:
        kind = kind_for(s.followees, count + count // 2)
        if kind < user["followees_kind"] and fits(s.followees, kind):
            set_followees_room(s, row, kind)
