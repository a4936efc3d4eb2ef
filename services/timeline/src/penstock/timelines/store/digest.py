"""The canonical hash of timelines: equal for equal timelines, however they came about and wherever they are kept.

In:  a user's number and the posts that the user sees, newest first.
Out: a number below 2^128 per user: BLAKE2b of the user's number and, for each post, of its time, its number and the
     hash of its bytes, as little-endian words of eight bytes. The hash of many users is the sum modulo 2^128, so it does
     not depend on their order or on partitions. Who sees nothing does not count.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

MODULUS: Final = 1 << 128


def payload_hash(payload: bytes | memoryview) -> int:
    return int.from_bytes(blake2b(payload, digest_size=8).digest(), "little")


def timeline_hash(user: int, posts: NDArray[np.uint64]) -> int:
    """`posts`: one row each: time (its 64 bits), number, payload_hash."""
    words = np.empty(1 + posts.size, "<u8")
    words[0] = user
    words[1:] = posts.reshape(-1)
    return int.from_bytes(blake2b(words.tobytes(), digest_size=16).digest(), "little")
