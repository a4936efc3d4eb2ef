"""Rows come and go: new users, authors and posts; slots that nobody refers to any more.

A slot is free when it is neither in an inbox nor the floor of one. A post that is only a floor is no longer found by
its number: it was withdrawn, or has grown too old for everybody.
Compiled. Whoever makes a row has made sure that there is room for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.store.layout import (
    AUTHORS,
    NO_TIME,
    NONE,
    POSTS,
    SLOT_FREE,
    SLOTS_USED,
    SUSPECTS,
    USERS,
    Int,
    State,
)
from penstock.timelines.store.pool import give_piece, take_piece
from penstock.timelines.store.tables import enter, home, strike_post
from penstock.wire.fields import jit


@jit
def new_user(s: State, number: Int) -> Int:
    row = s.counts[USERS]
    s.counts[USERS] = row + 1
    user = s.users[row]
    user["number"] = number
    user["newest_us"] = NO_TIME
    user["block"] = NONE
    user["followees_block"] = NONE
    user["stamp"] = 0
    user["count"] = 0
    user["room"] = 0
    user["floor"] = NONE
    user["followees"] = 0
    user["author"] = NONE
    user["kind"] = NONE
    user["followees_kind"] = NONE
    user["refilling"] = 0
    user["suspect"] = 0
    enter(s.user_table, home(s, number, s.user_table.size), row)
    return row


@jit
def copy_in(s: State, data: NDArray[np.uint8], at: Int, size: Int) -> Int:
    to = take_piece(s, size)
    for index in range(size):
        s.pool[to + index] = data[at + index]
    return to


@jit
def new_author(s: State, hashed: Int, data: NDArray[np.uint8], at: Int, size: Int, shard: Int) -> Int:
    row = s.counts[AUTHORS]
    s.counts[AUTHORS] = row + 1
    author = s.authors[row]
    author["hash"] = hashed
    author["at"] = copy_in(s, data, at, size)
    author["size"] = size
    author["shard"] = shard
    author["outbox"] = NONE
    author["unused"] = 0
    enter(s.author_table, home(s, hashed, s.author_table.size), row)
    return row


@jit
def new_post(
    s: State,
    number: Int,
    time_us: Int,
    author: Int,
    data: NDArray[np.uint8],
    at: Int,
    size: Int,
    id_at: Int,
    id_size: Int,
) -> Int:
    """With one reference, which is the caller's."""
    slot = s.counts[SLOT_FREE]
    if slot != NONE:
        s.counts[SLOT_FREE] = s.posts[slot]["next"]
    else:
        slot = s.counts[SLOTS_USED]
        s.counts[SLOTS_USED] = slot + 1
    s.counts[POSTS] += 1
    prefix = np.uint64(0)
    for index in range(8):
        prefix <<= np.uint64(8)
        if index < id_size:
            prefix |= np.uint64(data[id_at + index])
    post = s.posts[slot]
    post["number"] = number
    post["time_us"] = time_us
    post["prefix"] = prefix
    post["at"] = copy_in(s, data, at, size)
    post["size"] = size
    post["id_at"] = id_at - at
    post["id_size"] = id_size
    post["author"] = author
    post["entries"] = 1
    post["floors"] = 0
    post["next"] = NONE
    post["unused"] = 0
    s.post_authors[slot] = author
    enter(s.post_table, home(s, number, s.post_table.size), slot)
    return slot


@jit
def free_slot(s: State, slot: Int) -> None:
    post = s.posts[slot]
    give_piece(s, post["at"], post["size"])
    post["next"] = s.counts[SLOT_FREE]
    s.counts[SLOT_FREE] = slot
    s.counts[POSTS] -= 1


@jit
def release_entry(s: State, slot: Int) -> None:
    post = s.posts[slot]
    post["entries"] -= 1
    if post["entries"] == 0:
        strike_post(s, slot)
        if post["floors"] == 0:
            free_slot(s, slot)


@jit
def set_floor(s: State, row: Int, slot: Int) -> None:
    """Of a user's inbox; NONE for no floor."""
    user = s.users[row]
    before = user["floor"]
    if slot != NONE:
        s.posts[slot]["floors"] += 1
    user["floor"] = slot
    if before != NONE:
        post = s.posts[before]
        post["floors"] -= 1
        if post["floors"] == 0 and post["entries"] == 0:
            free_slot(s, before)


@jit
def suspect(s: State, row: Int) -> None:
    """The inbox may be too short now: to be looked at when the record is applied."""
    user = s.users[row]
    if user["suspect"] == 0:
        user["suspect"] = 1
        s.suspects[s.counts[SUSPECTS]] = row
        s.counts[SUSPECTS] += 1
