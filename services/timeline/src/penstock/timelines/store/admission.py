"""Posts enter an inbox: the newest at its end, most of the time; some anywhere; or many at once, merged.

In:  slots of posts, oldest first. Nothing happens where the inbox has a post, or where it is older than the floor.
Compiled. Needs room for a few blocks.
"""

from __future__ import annotations

import numpy as np
from penstock.timelines.store.blocks import WORDS_AT, kind_for
from penstock.timelines.store.compiled import jit
from penstock.timelines.store.inbox import drop_oldest, put_entry, replace, set_room
from penstock.timelines.store.layout import (
    ADDED,
    CAPACITY,
    ENTRIES,
    NONE,
    ROOM,
    SCRATCH_AT,
    STAMP,
    TRIMMED,
    Int,
    inboxes,
    post_at,
    user_at,
)
from penstock.timelines.store.memory import add, half, put_half
from penstock.timelines.store.order import older, position, same_place
from penstock.timelines.store.rows import release_entry, set_floor
from penstock.wire.memory import word

# So many posts or more are merged with the entries, unless of those there are so many times as many: then a place is
# searched for each.
MERGED_FROM = 4
_MERGED_SHARE = 8
_NEW = 1 << 30  # marks a slot that is new in the inbox


@jit
def admit(s: Int, row: Int, slots: Int, posts: Int) -> None:
    user, words = user_at(s, row), word(inboxes(s), WORDS_AT)
    many = posts >= MERGED_FROM and posts * _MERGED_SHARE >= user["count"]
    if many and post_at(s, half(slots, 0))["time_us"] <= user["newest_us"]:
        admit_merged(s, row, slots, posts)
        return
    for index in range(posts):
        slot = half(slots, index)
        post = post_at(s, slot)
        time_us, count = post["time_us"], user["count"]
        if time_us > user["newest_us"] and count < user["room"]:
            put_half(words, user["block"] + count, slot)
            user["count"] = count + 1
            user["newest_us"] = time_us
            user["stamp"] = word(s, STAMP)
            post["entries"] += 1
            add(s, ADDED, 1)
            add(s, ENTRIES, 1)
        else:
            insert(s, row, slot)


@jit
def insert(s: Int, row: Int, slot: Int) -> None:
    """Anywhere."""
    user, words = user_at(s, row), word(inboxes(s), WORDS_AT)
    if user["floor"] != NONE and older(s, slot, np.int64(user["floor"])):
        return
    count = user["count"]
    at = position(s, user["block"], count, slot)
    if at < count:
        there = half(words, user["block"] + at)
        if same_place(s, there, slot):
            replace(s, row, slot, at)
            return
    if count < word(s, ROOM):
        if count == user["room"]:
            set_room(s, row, kind_for(inboxes(s), count + 1))
        put_entry(s, row, slot, at)
        return
    # Of all with the new one, as many are left as the capacity is.
    drop = count + 1 - word(s, CAPACITY)
    if at < drop:
        drop_oldest(s, row, drop - 1)
    else:
        drop_oldest(s, row, drop)
        put_entry(s, row, slot, at - drop)
    set_floor(s, row, half(words, user["block"]))


@jit
def admit_merged(s: Int, row: Int, slots: Int, posts: Int) -> None:
    """Many posts, anywhere."""
    user = user_at(s, row)
    first = 0
    while first < posts and user["floor"] != NONE and older(s, half(slots, first), np.int64(user["floor"])):
        first += 1
    total = merge_newest(s, row, slots, first, posts)
    over = total > word(s, ROOM)
    keep = word(s, CAPACITY) if over else total
    new = count_new(s, keep)
    if new > 0 or over:
        settle_merged(s, row, keep, new)
    if over:
        set_floor(s, row, half(word(inboxes(s), WORDS_AT), user["block"]))


@jit
def merge_newest(s: Int, row: Int, slots: Int, first: Int, posts: Int) -> Int:
    """Entries and posts, newest first, into the scratch; one more than there is room for at most. How many."""
    user, scratch, limit = user_at(s, row), word(s, SCRATCH_AT), word(s, ROOM) + 1
    entries = word(inboxes(s), WORDS_AT) + 4 * user["block"]
    entry, post, total = user["count"] - 1, posts - 1, 0
    while total < limit and (entry >= 0 or post >= first):
        if post < first or (entry >= 0 and older(s, half(slots, post), half(entries, entry))):
            put_half(scratch, total, half(entries, entry))
            entry -= 1
        elif entry < 0 or older(s, half(entries, entry), half(slots, post)):
            put_half(scratch, total, half(slots, post) | _NEW)
            post -= 1
        else:
            replace(s, row, half(slots, post), entry)
            post -= 1
            continue
        total += 1
    return total


@jit
def count_new(s: Int, keep: Int) -> Int:
    """Takes a reference to each that stays."""
    scratch, new = word(s, SCRATCH_AT), 0
    for index in range(keep):
        slot = half(scratch, index)
        if slot & _NEW != 0:
            post_at(s, slot ^ _NEW)["entries"] += 1
            put_half(scratch, index, slot ^ _NEW)
            new += 1
    return new


@jit
def settle_merged(s: Int, row: Int, keep: Int, new: Int) -> None:
    """The newest of the scratch are the entries from now on."""
    user, scratch = user_at(s, row), word(s, SCRATCH_AT)
    dropped = user["count"] - (keep - new)
    entries = word(inboxes(s), WORDS_AT) + 4 * user["block"]
    for index in range(dropped):
        release_entry(s, half(entries, index))
    user["count"] = 0  # they are all in the scratch
    if keep > user["room"]:
        set_room(s, row, kind_for(inboxes(s), keep))
    entries = word(inboxes(s), WORDS_AT) + 4 * user["block"]
    for index in range(keep):
        put_half(entries, keep - 1 - index, half(scratch, index))
    user["count"] = keep
    user["newest_us"] = post_at(s, half(scratch, 0))["time_us"]
    user["stamp"] = word(s, STAMP)
    add(s, ADDED, new)
    add(s, ENTRIES, new - dropped)
    add(s, TRIMMED, dropped)
