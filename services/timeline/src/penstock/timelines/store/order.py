"""The order of posts: by time, then by id, then by author; texts by their UTF-8 bytes.

Compiled. Nearly always the times differ, else nearly always the first eight bytes of the ids do.
"""

from __future__ import annotations

from penstock.timelines.store.blocks import WORDS_AT
from penstock.timelines.store.compiled import jit
from penstock.timelines.store.layout import POOL_AT, Bool, Int, author_at, inboxes, post_at
from penstock.timelines.store.memory import half, put_half
from penstock.wire.memory import byte, word


@jit
def text_order(left: Int, size: Int, right: Int, right_size: Int) -> Int:
    """Below, at or above zero, as the text at the address `left` stands to the one at `right`."""
    for index in range(min(size, right_size)):
        difference = byte(left, index) - byte(right, index)
        if difference != 0:
            return difference
    return size - right_size


@jit
def tie_order(s: Int, left: Int, right: Int) -> Int:
    """Of posts with the same time."""
    a, b, pool = post_at(s, left), post_at(s, right), word(s, POOL_AT)
    if a["prefix"] != b["prefix"]:
        return -1 if a["prefix"] < b["prefix"] else 1
    order = text_order(pool + a["at"] + a["id_at"], a["id_size"], pool + b["at"] + b["id_at"], b["id_size"])
    if order != 0 or a["author"] == b["author"]:
        return order
    one, other = author_at(s, a["author"]), author_at(s, b["author"])
    return text_order(pool + one["at"], one["size"], pool + other["at"], other["size"])


@jit
def older(s: Int, left: Int, right: Int) -> Bool:
    """Whether the post in slot `left` is older than the one in slot `right`."""
    time_us, other_us = post_at(s, left)["time_us"], post_at(s, right)["time_us"]
    if time_us != other_us:
        return time_us < other_us
    return left != right and tie_order(s, left, right) < 0


@jit
def same_place(s: Int, left: Int, right: Int) -> Bool:
    """Whether neither is older."""
    if left == right:
        return True
    return post_at(s, left)["time_us"] == post_at(s, right)["time_us"] and tie_order(s, left, right) == 0


@jit
def position(s: Int, block: Int, count: Int, slot: Int) -> Int:
    """How many of the entries, which lie oldest first, are older than the post. Mostly it is among the newest."""
    words = word(inboxes(s), WORDS_AT)
    low, high, step = count - 1, count, 1
    while low >= 0 and not older(s, half(words, block + low), slot):
        high = low
        low -= step
        step *= 2
    low = max(low + 1, 0)
    while low < high:
        middle = (low + high) >> 1
        if older(s, half(words, block + middle), slot):
            low = middle + 1
        else:
            high = middle
    return low


@jit
def sort_slots(s: Int, slots: Int, count: Int, scratch: Int) -> None:
    """Oldest first. Mostly they are so already, or the other way round."""
    if count > 1 and older(s, half(slots, count - 1), half(slots, 0)):
        for index in range(count // 2):
            kept = half(slots, index)
            put_half(slots, index, half(slots, count - 1 - index))
            put_half(slots, count - 1 - index, kept)
    width = 1
    while width < count:
        for start in range(0, count, 2 * width):
            middle, stop = min(start + width, count), min(start + 2 * width, count)
            if middle < stop and older(s, half(slots, middle), half(slots, middle - 1)):
                merge_runs(s, slots, start, middle, stop, scratch)
        width *= 2


@jit
def merge_runs(s: Int, slots: Int, start: Int, middle: Int, stop: Int, scratch: Int) -> None:
    for index in range(start, middle):
        put_half(scratch, index - start, half(slots, index))
    left, right, to = 0, middle, start
    while left < middle - start:
        if right < stop and older(s, half(slots, right), half(scratch, left)):
            put_half(slots, to, half(slots, right))
            right += 1
        else:
            put_half(slots, to, half(scratch, left))
            left += 1
        to += 1
