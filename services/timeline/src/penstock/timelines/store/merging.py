"""Merges an inbox and outboxes by the order of their posts: a heap of lists, by the post that each comes to next.

Compiled; changes nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.store.blocks import WORDS_AT
from penstock.timelines.store.compiled import jit
from penstock.timelines.store.layout import Bool, Int, inboxes, user_at
from penstock.timelines.store.memory import half, put_half
from penstock.timelines.store.order import older
from penstock.wire.memory import word

Numbers = NDArray[np.int64]


@jit
def earlier(s: Int, left: Int, right: Int, newer: Bool) -> Bool:
    """Whether one slot comes out before another: newest first, or oldest first where `newer`."""
    return older(s, left, right) if newer else older(s, right, left)


@jit
def sift(s: Int, heads: Numbers, heap: Numbers, size: Int, newer: Bool) -> None:
    """Moves the list on top down, until no list below it has a head that comes out earlier."""
    moving, place = heap[0], 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and earlier(s, heads[heap[child + 1]], heads[heap[child]], newer):
            child += 1
        if not earlier(s, heads[heap[child]], heads[moving], newer):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = moving


@jit
def merge(s: Int, rows: Numbers, at: Numbers, left: Numbers, newer: Bool, skip: Int, out: Int, wanted: Int) -> None:
    """Writes `wanted` slots after `skip` others. Each list is read from `at` on, `left` entries of it."""
    words = word(inboxes(s), WORDS_AT)
    step = 1 if newer else -1
    heads, begins, heap = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64), np.empty(rows.size, np.int64)
    size = 0
    for which in range(rows.size):
        begins[which] = words + 4 * user_at(s, rows[which])["block"]
        if left[which] > 0:
            heads[which] = half(begins[which], at[which])
            # Into the heap from below.
            place = size
            while place > 0 and earlier(s, heads[which], heads[heap[(place - 1) >> 1]], newer):
                heap[place] = heap[(place - 1) >> 1]
                place = (place - 1) >> 1
            heap[place] = which
            size += 1
    taken = -skip
    while taken < wanted:
        which = heap[0]
        if taken >= 0:
            put_half(out, taken, heads[which])
        taken += 1
        left[which] -= 1
        if left[which] > 0:
            at[which] += step
            heads[which] = half(begins[which], at[which])
        else:
            size -= 1
            heap[0] = heap[size]
        sift(s, heads, heap, size, newer)
