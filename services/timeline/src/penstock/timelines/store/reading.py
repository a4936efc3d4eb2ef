"""Reads a timeline: the newest entries of an inbox, merged with the outboxes of the authors that its user follows.

In:  a user's number, a place to go on from, a direction, an array for the slots.
Out: slots, newest first, of the timeline's newest posts, as many as its capacity and not more.
Compiled; changes nothing. Each list is complete down to its floor, and has a capacity's worth of entries if it has a
floor, so the newest of the merged lists are the newest there are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.store.blocks import WORDS_AT
from penstock.timelines.store.compiled import jit
from penstock.timelines.store.followees import followees_at
from penstock.timelines.store.layout import CAPACITY, NONE, POOL_AT, Bool, Int, author_at, inboxes, post_at, user_at
from penstock.timelines.store.memory import half, put_half
from penstock.timelines.store.merging import merge
from penstock.timelines.store.order import text_order
from penstock.timelines.store.tables import find_user
from penstock.wire.memory import word


@jit
def reader_row(s: Int, number: Int) -> Int:
    """NONE if nobody knows the user; outboxes are no users."""
    row = find_user(s, number)
    return NONE if row == NONE or user_at(s, row)["author"] != NONE else row


@jit
def lists(s: Int, row: Int) -> NDArray[np.int64]:
    """Rows of users: the reader's own, and the outboxes to merge with it."""
    begin, followees = followees_at(s, row), user_at(s, row)["followees"]
    count = 1
    for index in range(followees):
        count += author_at(s, half(begin, index))["outbox"] != NONE
    found = np.empty(count, np.int64)
    found[0] = row
    for index in range(followees):
        outbox = author_at(s, half(begin, index))["outbox"]
        if outbox != NONE:
            count -= 1
            found[count] = outbox
    return found


@jit
def before_place(s: Int, slot: Int, time_us: Int, text: Int, id_size: Int, size: Int, equal: Bool) -> Bool:
    """Whether the post is older than the place, or at it where `equal`. `text` has the id and then the author."""
    post, pool = post_at(s, slot), word(s, POOL_AT)
    if post["time_us"] != time_us:
        return post["time_us"] < time_us
    order = text_order(pool + post["at"] + post["id_at"], post["id_size"], text, id_size)
    if order == 0:
        author = author_at(s, post["author"])
        order = text_order(pool + author["at"], author["size"], text + id_size, size - id_size)
    return order < 0 or (equal and order == 0)


@jit
def split(s: Int, row: Int, time_us: Int, text: Int, id_size: Int, size: Int, equal: Bool) -> Int:
    """How many of an inbox's entries lie before the place."""
    user = user_at(s, row)
    begin = word(inboxes(s), WORDS_AT) + 4 * user["block"]
    low, high = 0, user["count"]
    while low < high:
        middle = (low + high) >> 1
        if before_place(s, half(begin, middle), time_us, text, id_size, size, equal):
            low = middle + 1
        else:
            high = middle
    return low


@jit
def read(
    s: Int,
    number: Int,
    placed: Bool,
    time_us: Int,
    text: Int,
    id_size: Int,
    size: Int,
    newer: Bool,
    out: Int,
    room: Int,
) -> tuple[Int, Bool]:
    """How many were written to `out`, and whether there are more in that direction."""
    row = reader_row(s, number)
    if row == NONE:
        return 0, False
    rows = lists(s, row)
    at, left = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64)
    total: Int = 0
    passed: Int = 0
    for which in range(rows.size):
        count = user_at(s, rows[which])["count"]
        here = count if not newer else 0
        if placed:
            here = split(s, rows[which], time_us, text, id_size, size, newer)
        at[which] = here if newer else here - 1
        left[which] = count - here if newer else here
        total += left[which]
        passed += count - here
    capacity = word(s, CAPACITY)
    visible = min(total, capacity) if newer else min(total, max(capacity - passed, 0))
    wanted = min(visible, room)
    merge(s, rows, at, left, newer, total - visible if newer else 0, out, wanted)
    if newer:
        for index in range(wanted // 2):
            kept = half(out, index)
            put_half(out, index, half(out, wanted - 1 - index))
            put_half(out, wanted - 1 - index, kept)
    return wanted, visible > wanted


@jit
def refilling(s: Int, number: Int) -> Bool:
    row = reader_row(s, number)
    found = False
    if row != NONE:
        for one in lists(s, row):
            found |= user_at(s, one)["refilling"] != 0
    return found


@jit
def changed(s: Int, numbers: NDArray[np.int64], since: Int, outboxes: Bool) -> NDArray[np.bool_]:
    """Which of these users see something else than before the stamp, maybe; `outboxes`: if some of those changed."""
    found = np.zeros(numbers.size, np.bool_)
    for index in range(numbers.size):
        row = reader_row(s, numbers[index])
        if row != NONE:
            found[index] = user_at(s, row)["stamp"] > since
            if outboxes and not found[index]:
                for one in lists(s, row):
                    found[index] |= user_at(s, one)["stamp"] > since
    return found
