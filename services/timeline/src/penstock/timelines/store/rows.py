"""Rows come and go: new users, authors and posts; slots that nobody refers to any more.

A slot is free when it is neither in an inbox nor the floor of one. A post that is only a floor is no longer found by
its number: it was withdrawn, or has grown too old for everybody.
Compiled. Whoever makes a row has made sure that there is room for it.
"""

from __future__ import annotations

import numpy as np
from penstock.timelines.store.compiled import jit
from penstock.timelines.store.layout import (
    AUTHORS,
    NO_TIME,
    NONE,
    POSTS,
    SLOT_FREE,
    SLOTS_USED,
    SUSPECTS,
    SUSPECTS_AT,
    USERS,
    WRITERS_AT,
    Int,
    author_at,
    post_at,
    user_at,
)
from penstock.timelines.store.memory import add, put_half
from penstock.timelines.store.pool import give_piece, take_piece
from penstock.timelines.store.tables import enter_author, enter_post, enter_user, strike_post
from penstock.wire.memory import byte, put, word


@jit
def new_user(s: Int, number: Int) -> Int:
    row = word(s, USERS)
    add(s, USERS, 1)
    user = user_at(s, row)
    user["number"] = np.uint64(number)
    user["newest_us"] = NO_TIME
    user["block"] = user["followees_block"] = NONE
    user["kind"] = user["followees_kind"] = NONE
    user["floor"] = user["author"] = NONE
    user["count"] = user["room"] = user["followees"] = 0
    user["refilling"] = user["suspect"] = 0
    user["stamp"] = 0
    enter_user(s, row)
    return row


@jit
def new_author(s: Int, hashed: Int, name: Int, size: Int) -> Int:
    """The name is at the address `name`."""
    row = word(s, AUTHORS)
    add(s, AUTHORS, 1)
    author = author_at(s, row)
    author["hash"] = hashed
    author["at"] = take_piece(s, name, size)
    author["size"] = size
    author["shard"] = author["outbox"] = NONE
    author["unused"] = 0
    enter_author(s, row)
    return row


@jit
def new_post(s: Int, number: Int, time_us: Int, author: Int, payload: Int, size: Int, id_at: Int, id_size: Int) -> Int:
    """With one reference, which is the caller's. `payload`: the address of the serialized post."""
    slot = word(s, SLOT_FREE)
    if slot != NONE:
        put(s, SLOT_FREE, post_at(s, slot)["next"])
    else:
        slot = word(s, SLOTS_USED)
        add(s, SLOTS_USED, 1)
    add(s, POSTS, 1)
    prefix = np.uint64(0)
    for index in range(8):
        prefix = prefix << np.uint64(8) | np.uint64(byte(payload, id_at + index) if index < id_size else 0)
    post = post_at(s, slot)
    post["number"] = np.uint64(number)
    post["time_us"] = time_us
    post["prefix"] = prefix
    post["at"] = take_piece(s, payload, size)
    post["size"] = size
    post["id_at"] = id_at
    post["id_size"] = id_size
    post["author"] = author
    post["entries"] = 1
    post["floors"] = post["unused"] = 0
    post["next"] = NONE
    put_half(word(s, WRITERS_AT), slot, author)
    enter_post(s, slot)
    return slot


@jit
def free_slot(s: Int, slot: Int) -> None:
    post = post_at(s, slot)
    give_piece(s, post["at"], np.int64(post["size"]))
    post["next"] = word(s, SLOT_FREE)
    put(s, SLOT_FREE, slot)
    add(s, POSTS, -1)


@jit
def last_entry_left(s: Int, slot: Int) -> None:
    strike_post(s, slot)
    if post_at(s, slot)["floors"] == 0:
        free_slot(s, slot)


@jit
def release_entry(s: Int, slot: Int) -> None:
    post = post_at(s, slot)
    post["entries"] -= 1
    if post["entries"] == 0:
        last_entry_left(s, slot)


@jit
def set_floor(s: Int, row: Int, slot: Int) -> None:
    """Of a user's inbox; NONE for no floor."""
    user = user_at(s, row)
    before = user["floor"]
    if slot != NONE:
        post_at(s, slot)["floors"] += 1
    user["floor"] = slot
    if before != NONE:
        post = post_at(s, before)
        post["floors"] -= 1
        if post["floors"] == 0 and post["entries"] == 0:
            free_slot(s, np.int64(before))


@jit
def suspect(s: Int, row: Int) -> None:
    """The inbox may be too short now: to be looked at when the record is applied."""
    user = user_at(s, row)
    if user["suspect"] == 0:
        user["suspect"] = 1
        put_half(word(s, SUSPECTS_AT), word(s, SUSPECTS), row)
        add(s, SUSPECTS, 1)
