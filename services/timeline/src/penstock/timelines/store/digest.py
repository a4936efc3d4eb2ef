"""The canonical hash of timelines: equal for equal timelines, however they came about and wherever they are kept.

In:  a partition's columns, and what each user sees.
Out: a number below 2^128 for each user: BLAKE2b of the user's number and, for each post, newest first, of its time, its
     number and the hash of its bytes, as little-endian words of eight bytes. The hash of many users is the sum modulo
     2^128, so it depends neither on their order nor on partitions. Who sees nothing does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.store import layout as at
from penstock.timelines.store.columns import Columns
from penstock.timelines.store.values import Slots

MODULUS: Final = 1 << 128


def payload_hash(payload: bytes | memoryview) -> int:
    return int.from_bytes(blake2b(payload, digest_size=8).digest(), "little")


def timeline_hash(user: int, posts: NDArray[np.uint64]) -> int:
    """`posts`: one row each: time (its 64 bits), number, payload_hash."""
    words = np.empty(1 + posts.size, "<u8")
    words[0] = user
    words[1:] = posts.reshape(-1)
    return int.from_bytes(blake2b(words.tobytes(), digest_size=16).digest(), "little")


def partition_hash(columns: Columns, view: Callable[[int], Slots]) -> int:
    rows = columns.posts[: columns.count(at.SLOTS_USED)]
    posts = np.empty((rows.size, 3), np.uint64)
    posts[:, 0], posts[:, 1] = rows["time_us"].view(np.uint64), rows["number"]
    pool = columns.pool.data
    for slot in np.flatnonzero(rows["entries"] > 0).tolist():
        begin, size = int(rows["at"][slot]), int(rows["size"][slot])
        posts[slot, 2] = payload_hash(pool[begin : begin + size])
    total = 0
    for user in columns.users["number"][: columns.count(at.USERS)].tolist():
        slots = view(user)
        if slots.size:
            total += timeline_hash(user, posts[slots])
    return total % MODULUS
