"""How a partition lies in memory: rows of users, posts and authors, and lists of 32-bit numbers in blocks.

A user's row is one line of the processor's cache, and so is a post's: an entry is added by touching one line of its
reader and one of the inbox. An author's outbox is a row of users too. Numbers of rows are what everything refers to by:
a user's, an author's, a post's (its slot). Users and authors are never forgotten, slots are used again.

Everything compiled takes `State`; arrays that are too small are replaced by larger ones in Python (columns.py), between
calls.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

# In compiled code a machine's number; mypy cannot tell which.
Int = Any
Bool = Any

NONE: Final = -1
NO_TIME: Final = -(1 << 63)

USER: Final = np.dtype(
    [
        ("number", "u8"),
        ("newest_us", "i8"),  # of the newest entry; of the floor where there is no entry; NO_TIME where there is none
        ("block", "i8"),  # of entries, oldest first: slots
        ("followees_block", "i8"),  # in ascending order: authors
        ("stamp", "i8"),  # of the last record that changed what the user sees
        ("count", "i4"),
        ("room", "i4"),
        ("floor", "i4"),  # a slot; all posts that are not older than it are here; NONE: all there are
        ("followees", "i4"),
        ("author", "i4"),  # whose outbox it is, or NONE
        ("kind", "i1"),  # of the block, or NONE
        ("followees_kind", "i1"),
        ("refilling", "u1"),
        ("suspect", "u1"),  # something was taken from it: it may be too short now
    ]
)
POST: Final = np.dtype(
    [
        ("number", "u8"),
        ("time_us", "i8"),
        ("prefix", "u8"),  # the first eight bytes of the id, to be compared as a number
        ("at", "i8"),  # of the serialized post in the pool
        ("size", "i4"),
        ("id_at", "i4"),  # in the serialized post
        ("id_size", "i4"),
        ("author", "i4"),
        ("entries", "i4"),  # how often it is in inboxes
        ("floors", "i4"),  # of how many inboxes it is the floor
        ("next", "i4"),  # free slot
        ("unused", "i4"),
    ]
)
AUTHOR: Final = np.dtype(
    [("hash", "u8"), ("at", "i8"), ("size", "i4"), ("shard", "i4"), ("outbox", "i4"), ("unused", "i4")]
)

# Places in State.counts.
USERS, OUTBOXES, AUTHORS, ENTRIES, POSTS, SLOTS_USED, SLOT_FREE, POOL_USED = 0, 1, 2, 3, 4, 5, 6, 7
ADDED, REMOVED, TRIMMED, SUSPECTS, STAMP, CAPACITY, ROOM, SALT, PARTITION, PARTITIONS = (
    8,
    9,
    10,
    11,
    12,
    13,
    14,
    15,
    16,
    17,
)
COUNTS: Final = 18

POOL_KINDS: Final = 128


class Blocks(NamedTuple):
    """Lists of numbers in blocks of several sizes; see blocks.py."""

    words: NDArray[np.uint32]
    links: NDArray[np.int32]  # by slab
    heads: NDArray[np.int64]
    sizes: NDArray[np.int64]  # by kind of block: how many numbers it has room for, ascending


class State(NamedTuple):
    """All of a partition, as compiled code sees it."""

    users: NDArray[Any]
    posts: NDArray[Any]
    post_authors: NDArray[np.int32]  # by slot, once more: who looks through an inbox for an author needs nothing else
    authors: NDArray[Any]
    inboxes: Blocks
    followees: Blocks
    pool: NDArray[np.uint8]  # serialized posts, names of authors
    pool_words: NDArray[np.int64]  # the same memory
    pool_free: NDArray[np.int64]  # by kind
    user_table: NDArray[np.int32]
    post_table: NDArray[np.int32]
    author_table: NDArray[np.int32]
    suspects: NDArray[np.int32]
    counts: NDArray[np.int64]
