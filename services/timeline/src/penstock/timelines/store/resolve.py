"""From what a record says to rows: its authors, readers and posts, found or made.

Compiled. Readers are made where they begin to follow or are given posts, and only found where something is taken.
`resolve_readers` stops where the rows of users run out, to go on when there are more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.store import changes as of
from penstock.timelines.store.changes import Changes
from penstock.timelines.store.layout import NONE, PARTITION, PARTITIONS, USERS, Int, State
from penstock.timelines.store.order import sort_slots
from penstock.timelines.store.rows import new_author, new_post, new_user, release_entry
from penstock.timelines.store.tables import find_author, find_post, find_user, name_hash
from penstock.timelines.store.walk import number_at
from penstock.wire.fields import jit

DONE = -1
FOREIGN = -2  # a reader of another partition


@jit
def resolve_authors(s: State, c: Changes, data: NDArray[np.uint8]) -> None:
    for index in range(c.head[of.AUTHORS]):
        author = c.authors[index]
        at, size = author[of.NAME_AT], author[of.NAME_SIZE]
        hashed = name_hash(s, data, at, size)
        row = find_author(s, hashed, data, at, size)
        if row == NONE:
            row = new_author(s, hashed, data, at, size, c.head[of.SHARD])
        s.authors[row]["shard"] = c.head[of.SHARD]
        author[of.ROW] = row


@jit
def resolve_readers(s: State, c: Changes, data: Int, start: Int) -> Int:
    """From the operation `start` on: DONE, or the operation to go on with, or FOREIGN."""
    partition, partitions = np.uint64(s.counts[PARTITION]), np.uint64(s.counts[PARTITIONS])
    for index in range(start, c.head[of.OPS]):
        op = c.ops[index]
        first, at = op[of.FIRST], op[of.READERS_AT]
        if op[of.OUTBOX] != 0:
            c.readers[first] = s.authors[c.authors[op[of.OP_AUTHOR], of.ROW]]["outbox"]
            continue
        makes = op[of.OP] >= of.FOLLOWED
        for reader in range(op[of.READER_COUNT]):
            number = np.uint64(number_at(data, at + reader * of.NUMBER_BYTES))
            if ((number >> np.uint64(32)) * partitions) >> np.uint64(32) != partition:
                return FOREIGN
            row = find_user(s, number)
            if row == NONE and makes:
                if s.counts[USERS] == s.users.size:
                    return index
                row = new_user(s, number)
            c.readers[first + reader] = row
    return DONE


@jit
def resolve_posts(s: State, c: Changes, data: NDArray[np.uint8]) -> Int:
    """Every post of the record gets a slot, with a reference that `release_posts` takes back. The newest time."""
    newest = np.int64(-(1 << 63))
    for index in range(c.head[of.POSTS]):
        post = c.posts[index]
        number, at, size = np.uint64(post[of.NUMBER]), post[of.AT], post[of.SIZE]
        newest = max(newest, post[of.TIME_US])
        slot = find_post(s, number, data, at, size)
        if slot != NONE:
            s.posts[slot]["entries"] += 1
        else:
            author = c.authors[post[of.AUTHOR], of.ROW]
            slot = new_post(s, number, post[of.TIME_US], author, data, at, size, post[of.ID_AT], post[of.ID_SIZE])
        post[of.SLOT] = slot
    for index in range(c.head[of.INDEXES]):
        c.indexes[index] = c.posts[c.indexes[index], of.SLOT]
    return newest


@jit
def sort_spreads(s: State, c: Changes) -> None:
    """The slots of every spread, oldest first."""
    scratch = np.empty(c.head[of.INDEXES], np.int32)
    for index in range(c.head[of.OPS]):
        op = c.ops[index]
        if op[of.OP] == of.SPREAD:
            sort_slots(s, c.indexes, op[of.POSTS_AT], op[of.POSTS_AT] + op[of.POST_COUNT], scratch)


@jit
def release_posts(s: State, c: Changes) -> None:
    """Those that nobody took are forgotten."""
    for index in range(c.head[of.POSTS]):
        release_entry(s, c.posts[index, of.SLOT])
