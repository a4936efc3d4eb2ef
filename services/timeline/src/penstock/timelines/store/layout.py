"""How a partition lies in memory: rows of users, posts and authors, lists of numbers in blocks, and a table of it all.

A user's row is one line of the processor's cache, and so is a post's: an entry is added by touching one line of its
reader and one of the inbox. An author's outbox is a row of users too. Rows are referred to by number; that of a post is
its slot. Users and authors are never forgotten; slots are used again.

Compiled code is given the address of the table, `s`: where the arrays are, how large they are, and counters. Arrays
that are too small are replaced by larger ones in Python (columns.py), between calls.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from penstock.timelines.store.compiled import jit
from penstock.timelines.store.memory import rows

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
        ("refilling", "i1"),
        ("suspect", "i1"),  # something was taken from it: it may be too short now
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
    [("hash", "i8"), ("at", "i8"), ("size", "i4"), ("shard", "i4"), ("outbox", "i4"), ("unused", "i4")]
)

# The table. Addresses, and sizes of what they are the addresses of.
USERS_AT, POSTS_AT, WRITERS_AT, AUTHORS_AT, POOL_AT, POOL_FREE_AT, SUSPECTS_AT, SCRATCH_AT = 0, 1, 2, 3, 4, 5, 6, 7
USER_TABLE_AT, USER_PLACES, POST_TABLE_AT, POST_PLACES, AUTHOR_TABLE_AT, AUTHOR_PLACES = 8, 9, 10, 11, 12, 13
USERS_MAX = 14
# Two arenas of blocks, whose tables (blocks.py) are part of this one.
INBOXES, FOLLOWEES = 16, 24
# What a partition is.
CAPACITY, ROOM, SALT, PARTITION, PARTITIONS = 32, 33, 34, 35, 36
# What it holds.
USERS, AUTHORS, ENTRIES, POSTS, SLOTS_USED, SLOT_FREE, POOL_USED, STAMP, SUSPECTS = 40, 41, 42, 43, 44, 45, 46, 47, 48
# What the record at hand did.
ADDED, REMOVED, TRIMMED = 50, 51, 52
TABLE_WORDS: Final = 56
COUNTERS: Final = slice(USERS, SUSPECTS)  # to be kept

POOL_KINDS: Final = 128
USER_BYTES: Final = USER.itemsize
POST_BYTES: Final = POST.itemsize

user_at = rows(USER, USERS_AT)
post_at = rows(POST, POSTS_AT)
author_at = rows(AUTHOR, AUTHORS_AT)


@jit
def inboxes(s: Int) -> Int:
    """The table of the arena."""
    return s + 8 * INBOXES


@jit
def followees(s: Int) -> Int:
    return s + 8 * FOLLOWEES
