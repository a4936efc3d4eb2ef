"""Users and posts as 64-bit numbers: what inboxes, deliveries and cursors are made of.

In:  ids, which are text of any length.
Out: BLAKE2b of the id, eight bytes, with a purpose mixed in: a user, an author's outbox and a post never share a number
     because they share a name. And the timeline partition of a number.
Pure.

Two ids with one number would share a timeline (users) or hide each other (posts of one inbox). Among n ids that happens
with a chance of about n² / 2^65: 3 in 10^8 for a million users, 3 in 10^4 for a hundred million, 3 in 100 for a
billion. BLAKE2b because ids are chosen by strangers: to hit the number of somebody else takes 2^64 attempts, where a
hash that is merely fast could be aimed. (Two numbers that collide on purpose, both one's own, take 2^32 attempts and
only mix up one's own posts.)
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

_USER: Final = b"penstock user"
_OUTBOX: Final = b"penstock outbox"
_POST: Final = b"penstock post"
_VERSION: Final = b"penstock version"

Numbers = NDArray[np.uint64]


def user_number(user: str) -> int:
    """Of a follower, a reader, an author."""
    return int.from_bytes(blake2b(user.encode(), digest_size=8, person=_USER).digest(), "little")


def outbox_number(author: str) -> int:
    """Of the inbox-like list that readers of a widely followed author merge when they read."""
    return int.from_bytes(blake2b(author.encode(), digest_size=8, person=_OUTBOX).digest(), "little")


def post_key(author: str, post_id: str) -> int:
    """Of a post, whatever its version. It belongs to its author: the same id of another author is another post."""
    name = author.encode()
    text = len(name).to_bytes(4, "little") + name + post_id.encode()
    return int.from_bytes(blake2b(text, digest_size=8, person=_POST).digest(), "little")


def post_number(key: int, time_us: int, position: bytes) -> int:
    """Of a version of a post: one that was edited is another one to readers, who are shown it anew."""
    text = key.to_bytes(8, "little") + time_us.to_bytes(8, "little", signed=True) + position
    return int.from_bytes(blake2b(text, digest_size=8, person=_VERSION).digest(), "little")


def partition_of(number: int, partitions: int) -> int:
    """The timeline partition of a user: ranges of numbers, so that numbers in order are partitions in order."""
    return ((number >> 32) * partitions) >> 32


def partition_starts(partitions: int) -> Numbers:
    """The least number of each partition."""
    starts = [-((-partition << 32) // partitions) << 32 for partition in range(partitions)]
    return np.array(starts, np.uint64)


def packed(numbers: Numbers) -> bytes:
    """As deliveries carry them."""
    return numbers.astype("<u8", copy=False).tobytes()


def unpacked(data: bytes) -> Numbers:
    """From a delivery; not to be written to. ValueError if it is no whole count of numbers."""
    return np.frombuffer(data, "<u8")
