"""One inbox: entries, the floor, and the block that they are in.

An inbox is a list of slots, oldest first. It holds exactly the posts that are not older than its floor, or all there
are where it has none; when it would grow beyond its room, the oldest are dropped down to its capacity, and the floor
rises to the oldest that is left.
Compiled. What makes an inbox longer needs room for a few blocks.
"""

from __future__ import annotations

import numpy as np
from penstock.timelines.store.blocks import WORDS_AT, block_size, fits, give_block, kind_for, take_block
from penstock.timelines.store.compiled import jit
from penstock.timelines.store.layout import (
    ADDED,
    ENTRIES,
    NO_TIME,
    NONE,
    POST_BYTES,
    POSTS_AT,
    REMOVED,
    STAMP,
    TRIMMED,
    WRITERS_AT,
    Int,
    inboxes,
    post_at,
    user_at,
)
from penstock.timelines.store.memory import FETCH_AHEAD, add, fetch, half, move, put_half
from penstock.timelines.store.order import older, position
from penstock.timelines.store.rows import release_entry, set_floor, suspect
from penstock.wire.memory import word


@jit
def set_room(s: Int, row: Int, kind: Int) -> None:
    """Moves the entries into a block of this kind, or gives the block back: NONE."""
    user, arena = user_at(s, row), inboxes(s)
    before, block, words = user["kind"], user["block"], word(arena, WORDS_AT)
    moved, room = NONE, 0
    if kind != NONE:
        moved, room = take_block(arena, kind, row), block_size(arena, kind)
        move(words + 4 * moved, words + 4 * block, 4 * user["count"])
    user["block"] = moved
    user["kind"] = kind
    user["room"] = room
    if before != NONE:
        give_block(arena, np.int64(before), block)


@jit
def tidy(s: Int, row: Int) -> None:
    """After entries left: gives back what is too much, and notes the newest."""
    user, arena = user_at(s, row), inboxes(s)
    count = user["count"]
    if count == 0:
        user["newest_us"] = post_at(s, user["floor"])["time_us"] if user["floor"] != NONE else NO_TIME
        if user["kind"] != NONE:
            set_room(s, row, NONE)
        return
    user["newest_us"] = post_at(s, half(word(arena, WORDS_AT), user["block"] + count - 1))["time_us"]
    if 4 * count < user["room"]:
        kind = kind_for(arena, count + count // 2)
        if kind < user["kind"] and fits(arena, kind):
            set_room(s, row, kind)


@jit
def drop_oldest(s: Int, row: Int, drop: Int) -> None:
    user = user_at(s, row)
    words = word(inboxes(s), WORDS_AT)
    begin, left = words + 4 * user["block"], user["count"] - drop
    for index in range(drop):
        fetch(word(s, POSTS_AT) + POST_BYTES * half(begin, index + FETCH_AHEAD))  # beyond the last one: for nothing
        release_entry(s, half(begin, index))
    move(begin, begin + 4 * drop, 4 * left)
    user["count"] = left
    add(s, ENTRIES, -drop)
    add(s, TRIMMED, drop)


@jit
def replace(s: Int, row: Int, slot: Int, at: Int) -> None:
    """Nothing happens if it is the same; another version of the same post and time was said last, so it counts."""
    user, words = user_at(s, row), word(inboxes(s), WORDS_AT)
    there = half(words, user["block"] + at)
    if there != slot:
        put_half(words, user["block"] + at, slot)
        post_at(s, slot)["entries"] += 1
        user["stamp"] = word(s, STAMP)
        release_entry(s, there)


@jit
def put_entry(s: Int, row: Int, slot: Int, at: Int) -> None:
    """At a place among the entries, where there is room."""
    user = user_at(s, row)
    begin, count = word(inboxes(s), WORDS_AT) + 4 * user["block"], user["count"]
    move(begin + 4 * (at + 1), begin + 4 * at, 4 * (count - at))
    put_half(begin, at, slot)
    if at == count:
        user["newest_us"] = post_at(s, slot)["time_us"]
    user["count"] = count + 1
    user["stamp"] = word(s, STAMP)
    post_at(s, slot)["entries"] += 1
    add(s, ENTRIES, 1)
    add(s, ADDED, 1)


@jit
def remove(s: Int, row: Int, slot: Int) -> None:
    """Nothing happens where it is not there."""
    user = user_at(s, row)
    begin, count = word(inboxes(s), WORDS_AT) + 4 * user["block"], user["count"]
    at = position(s, user["block"], count, slot)
    if at == count or half(begin, at) != slot:
        return
    move(begin + 4 * at, begin + 4 * (at + 1), 4 * (count - 1 - at))
    note_removed(s, row, np.int64(1))
    release_entry(s, slot)


@jit
def remove_author(s: Int, row: Int, author: Int) -> None:
    """Everything that the author wrote."""
    user, writers = user_at(s, row), word(s, WRITERS_AT)
    begin = word(inboxes(s), WORDS_AT) + 4 * user["block"]
    kept = 0
    for index in range(user["count"]):
        slot = half(begin, index)
        if half(writers, slot) == author:
            release_entry(s, slot)
        else:
            put_half(begin, kept, slot)
            kept += 1
    if kept < user["count"]:
        note_removed(s, row, user["count"] - kept)


@jit
def note_removed(s: Int, row: Int, gone: Int) -> None:
    user = user_at(s, row)
    user["count"] -= gone
    user["stamp"] = word(s, STAMP)
    add(s, ENTRIES, -gone)
    add(s, REMOVED, gone)
    suspect(s, row)
    tidy(s, row)


@jit
def raise_floor(s: Int, row: Int, slot: Int) -> None:
    """Posts that are older than this one may be missing from now on."""
    user = user_at(s, row)
    if user["floor"] != NONE and not older(s, np.int64(user["floor"]), slot):
        return
    drop = position(s, user["block"], user["count"], slot)
    set_floor(s, row, slot)
    if drop > 0:
        drop_oldest(s, row, drop)
        user["stamp"] = word(s, STAMP)
    suspect(s, row)
    tidy(s, row)
