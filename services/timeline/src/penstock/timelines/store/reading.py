"""Reads a timeline: the newest entries of an inbox, merged with the outboxes of the authors that its user follows.

In:  a user's number, a place to go on from, a direction, an array for the slots.
Out: slots, newest first, of the timeline's newest posts, as many as its capacity and not more.
Compiled; changes nothing. Each list is complete down to its floor, and has a capacity's worth of entries if it has a
floor, so the newest of the merged lists are the newest there are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.store.layout import CAPACITY, NONE, Bool, Int, State
from penstock.timelines.store.order import bytes_order, older
from penstock.timelines.store.tables import find_user
from penstock.wire.fields import jit

Numbers = NDArray[np.int64]


@jit
def reader_row(s: State, number: Int) -> Int:
    """NONE if nobody knows the user; outboxes are no users."""
    row = find_user(s, np.uint64(number))
    return NONE if row == NONE or s.users[row]["author"] != NONE else row


@jit
def lists(s: State, row: Int) -> Numbers:
    """Rows of users: the reader's own, and the outboxes to merge with it."""
    user = s.users[row]
    words, block = s.followees.words, user["followees_block"]
    count = 1
    for index in range(user["followees"]):
        count += s.authors[words[block + index]]["outbox"] != NONE
    found = np.empty(count, np.int64)
    found[0] = row
    for index in range(user["followees"]):
        outbox = s.authors[words[block + index]]["outbox"]
        if outbox != NONE:
            count -= 1
            found[count] = outbox
    return found


@jit
def before_place(s: State, slot: Int, time_us: Int, text: NDArray[np.uint8], id_size: Int, equal: bool) -> Bool:
    """Whether the post is older than the place, or at it where `equal`. `text` is the id and then the author."""
    post = s.posts[slot]
    if post["time_us"] != time_us:
        return post["time_us"] < time_us
    order = bytes_order(s.pool, post["at"] + post["id_at"], np.int64(post["id_size"]), text, 0, id_size)
    if order == 0:
        author = s.authors[post["author"]]
        order = bytes_order(s.pool, author["at"], np.int64(author["size"]), text, id_size, text.size - id_size)
    return order < 0 or (equal and order == 0)


@jit
def split(s: State, row: Int, time_us: Int, text: NDArray[np.uint8], id_size: Int, equal: bool) -> Int:
    """How many of an inbox's entries lie before the place."""
    block = s.users[row]["block"]
    low, high = np.int64(0), np.int64(s.users[row]["count"])
    while low < high:
        middle = (low + high) >> 1
        if before_place(s, np.int64(s.inboxes.words[block + middle]), time_us, text, id_size, equal):
            low = middle + 1
        else:
            high = middle
    return low


@jit
def head(s: State, rows: Numbers, at: Numbers, which: Int) -> Int:
    return np.int64(s.inboxes.words[s.users[rows[which]]["block"] + at[which]])


@jit
def sift(s: State, rows: Numbers, at: Numbers, heap: Numbers, size: Int, place: Int, newer: bool) -> None:
    """Moves a list down the heap, until no list below it has a head that comes out earlier."""
    moving = heap[place]
    slot = head(s, rows, at, moving)
    while 2 * place + 1 < size:
        child = 2 * place + 1
        below = head(s, rows, at, heap[child])
        if child + 1 < size:
            other = head(s, rows, at, heap[child + 1])
            if older(s, other, below) if newer else older(s, below, other):
                child += 1
                below = other
        if older(s, below, slot) if newer else older(s, slot, below):
            heap[place] = heap[child]
            place = child
        else:
            break
    heap[place] = moving


@jit
def merge(s: State, rows: Numbers, at: Numbers, left: Numbers, newer: bool, skip: Int, out: NDArray[np.uint32]) -> Int:
    """From `at` on in each list, `left` entries of each: newest first, or oldest first where `newer`."""
    heap = np.empty(rows.size, np.int64)
    size = 0
    for which in range(rows.size):
        if left[which] > 0:
            heap[size] = which
            size += 1
    for place in range(size // 2 - 1, -1, -1):
        sift(s, rows, at, heap, size, place, newer)
    taken = 0
    while size > 0 and taken < out.size:
        which = heap[0]
        if skip > 0:
            skip -= 1
        else:
            out[taken] = head(s, rows, at, which)
            taken += 1
        at[which] += 1 if newer else -1
        left[which] -= 1
        if left[which] == 0:
            size -= 1
            heap[0] = heap[size]
        if size > 1:
            sift(s, rows, at, heap, size, 0, newer)
    return taken


@jit
def read(
    s: State,
    row: Int,
    placed: bool,
    time_us: Int,
    text: NDArray[np.uint8],
    id_size: Int,
    newer: bool,
    out: NDArray[np.uint32],
) -> tuple[Int, Bool]:
    """How many were written, and whether there are more in that direction."""
    rows = lists(s, row)
    at, left = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64)
    total = passed = np.int64(0)
    for which in range(rows.size):
        count = np.int64(s.users[rows[which]]["count"])
        here = split(s, rows[which], time_us, text, id_size, newer) if placed else count
        at[which] = here if newer else here - 1
        left[which] = count - here if newer else here
        total += left[which]
        passed += count - here
    capacity = s.counts[CAPACITY]
    visible = min(total, capacity) if newer else min(total, max(capacity - passed, 0))
    wanted = min(visible, out.size)
    taken = merge(s, rows, at, left, newer, total - visible if newer else 0, out[:wanted])
    if newer:
        for index in range(taken // 2):
            out[index], out[taken - 1 - index] = out[taken - 1 - index], out[index]
    return taken, visible > taken


@jit
def refilling(s: State, row: Int) -> Bool:
    for one in lists(s, row):
        if s.users[one]["refilling"] != 0:
            return True
    return False


@jit
def newest_stamp(s: State, row: Int) -> Int:
    """Of the last record that changed what the user sees."""
    newest = np.int64(0)
    for one in lists(s, row):
        newest = max(newest, s.users[one]["stamp"])
    return newest
