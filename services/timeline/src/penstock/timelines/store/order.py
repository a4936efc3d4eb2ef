"""The order of posts: by time, then by id, then by author; texts by their UTF-8 bytes.

Compiled. Nearly always the times differ, else nearly always the first eight bytes of the ids do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.store.layout import Bool, Int, State
from penstock.wire.fields import jit


@jit
def bytes_order(left: NDArray[np.uint8], at: Int, size: Int, right: NDArray[np.uint8], to: Int, right_size: Int) -> Int:
    """Below, at or above zero, as `left` stands to `right`."""
    for index in range(min(size, right_size)):
        difference = np.int64(left[at + index]) - np.int64(right[to + index])
        if difference != 0:
            return difference
    return size - right_size


@jit
def tie_order(s: State, left: Int, right: Int) -> Int:
    """Of posts with the same time."""
    a, b = s.posts[left], s.posts[right]
    if a["prefix"] != b["prefix"]:
        return -1 if a["prefix"] < b["prefix"] else 1
    difference = bytes_order(
        s.pool, a["at"] + a["id_at"], np.int64(a["id_size"]), s.pool, b["at"] + b["id_at"], np.int64(b["id_size"])
    )
    if difference != 0 or a["author"] == b["author"]:
        return difference
    one, other = s.authors[a["author"]], s.authors[b["author"]]
    return bytes_order(s.pool, one["at"], np.int64(one["size"]), s.pool, other["at"], np.int64(other["size"]))


@jit
def older(s: State, left: Int, right: Int) -> Bool:
    """Whether the post in slot `left` is older than the one in slot `right`."""
    time, other = s.posts[left]["time_us"], s.posts[right]["time_us"]
    if time != other:
        return time < other
    return left != right and tie_order(s, left, right) < 0


@jit
def position(s: State, block: Int, count: Int, slot: Int) -> Int:
    """How many of the entries, which lie oldest first, are older than the post."""
    words = s.inboxes.words
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if older(s, np.int64(words[block + middle]), slot):
            low = middle + 1
        else:
            high = middle
    return low


@jit
def sort_slots(s: State, slots: NDArray[np.int32], begin: Int, end: Int, scratch: NDArray[np.int32]) -> None:
    """Oldest first. Mostly they are so already, or the other way round."""
    if end - begin < 2:
        return
    if older(s, slots[end - 1], slots[begin]):
        for index in range((end - begin) // 2):
            slots[begin + index], slots[end - 1 - index] = slots[end - 1 - index], slots[begin + index]
    width = 1
    while width < end - begin:
        for start in range(begin, end, 2 * width):
            middle, stop = min(start + width, end), min(start + 2 * width, end)
            if middle < stop and older(s, slots[middle], slots[middle - 1]):
                merge_runs(s, slots, start, middle, stop, scratch)
        width *= 2


@jit
def merge_runs(
    s: State, slots: NDArray[np.int32], start: Int, middle: Int, stop: Int, scratch: NDArray[np.int32]
) -> None:
    for index in range(start, middle):
        scratch[index - start] = slots[index]
    left, right, to = 0, middle, start
    while left < middle - start:
        if right < stop and older(s, slots[right], scratch[left]):
            slots[to] = slots[right]
            right += 1
        else:
            slots[to] = scratch[left]
            left += 1
        to += 1
