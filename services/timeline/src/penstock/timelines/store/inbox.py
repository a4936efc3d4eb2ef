"""Entries enter and leave one inbox.

An inbox is a list of slots, oldest first. It holds exactly the posts that are not older than its floor, or all there
are where it has none; when it would grow beyond its room, the oldest are dropped down to its capacity, and the floor
rises to the oldest that is left.
Compiled. `grow` needs `fits` (blocks.py) asked before.
"""

from __future__ import annotations

import numpy as np
from penstock.timelines.store.blocks import fits, give_block, kind_for, take_block
from penstock.timelines.store.layout import (
    ADDED,
    CAPACITY,
    ENTRIES,
    NO_TIME,
    NONE,
    REMOVED,
    ROOM,
    STAMP,
    TRIMMED,
    Int,
    State,
)
from penstock.timelines.store.order import older, position, tie_order
from penstock.timelines.store.rows import release_entry, set_floor, suspect
from penstock.wire.fields import jit


@jit
def set_room(s: State, row: Int, kind: Int) -> None:
    """Moves the entries into a block of this kind, or gives the block back: NONE."""
    user = s.users[row]
    before, block = user["kind"], user["block"]
    moved = take_block(s.inboxes, kind, row) if kind != NONE else NONE
    if kind != NONE:
        for index in range(user["count"]):
            s.inboxes.words[moved + index] = s.inboxes.words[block + index]
    user["block"] = moved
    user["kind"] = kind
    user["room"] = s.inboxes.sizes[kind] if kind != NONE else 0
    if before != NONE:
        give_block(s.inboxes, before, block, s.users["block"])


@jit
def grow(s: State, row: Int) -> None:
    """Room for one more entry."""
    set_room(s, row, kind_for(s.inboxes, np.int64(s.users[row]["count"]) + 1))


@jit
def tidy(s: State, row: Int) -> None:
    """After entries left: gives back what is too much, and notes the newest."""
    user = s.users[row]
    count = np.int64(user["count"])
    if count == 0:
        user["newest_us"] = s.posts[user["floor"]]["time_us"] if user["floor"] != NONE else NO_TIME
        if user["kind"] != NONE:
            set_room(s, row, NONE)
        return
    user["newest_us"] = s.posts[s.inboxes.words[user["block"] + count - 1]]["time_us"]
    if 4 * count < user["room"]:
        kind = kind_for(s.inboxes, count + count // 2)
        if kind < user["kind"] and fits(s.inboxes, kind):
            set_room(s, row, kind)


@jit
def drop_oldest(s: State, row: Int, drop: Int) -> None:
    user = s.users[row]
    words, block, left = s.inboxes.words, user["block"], user["count"] - drop
    for index in range(drop):
        release_entry(s, np.int64(words[block + index]))
    for index in range(left):
        words[block + index] = words[block + drop + index]
    user["count"] = left
    s.counts[ENTRIES] -= drop
    s.counts[TRIMMED] += drop


@jit
def insert(s: State, row: Int, slot: Int) -> None:
    """Anywhere. Nothing happens where the inbox has the post, or where the post is older than the floor."""
    user = s.users[row]
    if user["floor"] != NONE and older(s, slot, np.int64(user["floor"])):
        return
    count = np.int64(user["count"])
    at = position(s, user["block"], count, slot)
    words = s.inboxes.words
    if at < count:
        there = np.int64(words[user["block"] + at])
        if there == slot:
            return
        if s.posts[there]["time_us"] == s.posts[slot]["time_us"] and tie_order(s, there, slot) == 0:
            # The same post in another version of the same time: the join said it last, so it counts.
            words[user["block"] + at] = slot
            s.posts[slot]["entries"] += 1
            release_entry(s, there)
            user["stamp"] = s.counts[STAMP]
            return
    if count == s.counts[ROOM]:
        # Of all with the new one, as many are left as the capacity is.
        drop = count + 1 - s.counts[CAPACITY]
        if at < drop:
            drop_oldest(s, row, drop - 1)
            set_floor(s, row, np.int64(words[user["block"]]))
            return
        drop_oldest(s, row, drop)
        at -= drop
        put_entry(s, row, slot, at)
        set_floor(s, row, np.int64(words[user["block"]]))
        return
    if count == user["room"]:
        grow(s, row)
    put_entry(s, row, slot, at)


@jit
def put_entry(s: State, row: Int, slot: Int, at: Int) -> None:
    """At a place among the entries, where there is room."""
    user = s.users[row]
    words, block, count = s.inboxes.words, user["block"], user["count"]
    for index in range(count, at, -1):
        words[block + index] = words[block + index - 1]
    words[block + at] = slot
    if at == count:
        user["newest_us"] = s.posts[slot]["time_us"]
    user["count"] = count + 1
    user["stamp"] = s.counts[STAMP]
    s.posts[slot]["entries"] += 1
    s.counts[ENTRIES] += 1
    s.counts[ADDED] += 1


@jit
def remove(s: State, row: Int, slot: Int) -> None:
    """Nothing happens where it is not there."""
    user = s.users[row]
    words, block, count = s.inboxes.words, user["block"], np.int64(user["count"])
    at = position(s, block, count, slot)
    if at == count or np.int64(words[block + at]) != slot:
        return
    for index in range(at, count - 1):
        words[block + index] = words[block + index + 1]
    note_removed(s, row, 1)
    release_entry(s, slot)


@jit
def remove_author(s: State, row: Int, author: Int) -> None:
    """Everything that the author wrote."""
    user = s.users[row]
    words, block = s.inboxes.words, user["block"]
    kept = 0
    for index in range(user["count"]):
        slot = np.int64(words[block + index])
        if s.post_authors[slot] == author:
            release_entry(s, slot)
        else:
            words[block + kept] = slot
            kept += 1
    if kept < user["count"]:
        note_removed(s, row, user["count"] - kept)


@jit
def note_removed(s: State, row: Int, gone: Int) -> None:
    user = s.users[row]
    user["count"] -= gone
    user["stamp"] = s.counts[STAMP]
    s.counts[ENTRIES] -= gone
    s.counts[REMOVED] += gone
    suspect(s, row)
    tidy(s, row)


@jit
def raise_floor(s: State, row: Int, slot: Int) -> None:
    """Posts that are older than this one may be missing from now on."""
    user = s.users[row]
    if user["floor"] != NONE and not older(s, np.int64(user["floor"]), slot):
        return
    drop = position(s, user["block"], np.int64(user["count"]), slot)
    set_floor(s, row, slot)
    if drop > 0:
        drop_oldest(s, row, drop)
        user["stamp"] = s.counts[STAMP]
    suspect(s, row)
    tidy(s, row)
