"""The arrays of a partition, and larger ones when they are full.

In:  how much room is needed. Out: `state`, for compiled code, whose arrays have that much.
Arrays at least double, so that a row is moved about once in its life. What was never used of an array takes no memory:
the system gives it page by page.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray
from penstock.timelines.store.blocks import SLAB_WORDS, SLABS_USED, empty_blocks, grown
from penstock.timelines.store.layout import (
    AUTHOR,
    AUTHORS,
    CAPACITY,
    COUNTS,
    NONE,
    PARTITION,
    PARTITIONS,
    POOL_KINDS,
    POOL_USED,
    POST,
    ROOM,
    SALT,
    SLOT_FREE,
    SLOTS_USED,
    USER,
    USERS,
    Blocks,
    State,
)
from penstock.timelines.store.tables import enter_authors, enter_posts, enter_users
from penstock.timelines.store.values import Shape

_LINE: Final = 64
_ROWS: Final = 64
_SLABS: Final = 16
_POOL_BYTES: Final = 1 << 14
# How many blocks of a kind share the slab of an inbox at its largest: each kind a third to a half larger than the next.
_SHARES: Final = (64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1)
_FOLLOWEES_SLAB: Final = 1 << 12
_FOLLOWEES_KINDS: Final = 27  # up to 2^28 - 1


def aligned(dtype: DTypeLike, count: int) -> NDArray[Any]:
    """Rows that begin where a line of the cache does."""
    size = np.dtype(dtype).itemsize * count
    memory = np.empty(size + _LINE, np.uint8)
    skip = -memory.ctypes.data % _LINE
    return memory[skip : skip + size].view(dtype)


def table_for(rows: int) -> NDArray[np.int32]:
    """Empty, and at least twice as large."""
    return np.full(1 << (2 * rows - 1).bit_length(), NONE, np.int32)


def extended(array: NDArray[Any], used: int, rows: int) -> NDArray[Any]:
    larger = aligned(array.dtype, max(rows, 2 * array.size))
    larger[:used] = array[:used]
    return larger


def empty_inboxes(shape: Shape) -> Blocks:
    slab = shape.room + 1
    sizes = sorted({slab // share - 1 for share in _SHARES} - {0, -1})
    return empty_blocks(slab, sizes, _SLABS)


def empty_followees() -> Blocks:
    return empty_blocks(_FOLLOWEES_SLAB, [(4 << kind) - 1 for kind in range(_FOLLOWEES_KINDS)], _SLABS)


def empty_state(number: int, shape: Shape, salt: int) -> State:
    counts = np.zeros(COUNTS, np.int64)
    counts[[SLOT_FREE, CAPACITY, ROOM]] = NONE, shape.capacity, shape.room
    counts[[PARTITION, PARTITIONS]] = number, shape.partitions
    counts[SALT] = np.uint64(salt & (1 << 64) - 1).view(np.int64)
    pool = aligned(np.uint8, _POOL_BYTES)
    return State(
        users=aligned(USER, _ROWS),
        posts=aligned(POST, _ROWS),
        post_authors=aligned(np.int32, _ROWS),
        authors=aligned(AUTHOR, _ROWS),
        inboxes=empty_inboxes(shape),
        followees=empty_followees(),
        pool=pool,
        pool_words=pool.view(np.int64),
        pool_free=np.full(POOL_KINDS, NONE, np.int64),
        user_table=table_for(_ROWS),
        post_table=table_for(_ROWS),
        author_table=table_for(_ROWS),
        suspects=aligned(np.int32, _ROWS),
        counts=counts,
    )


class Columns:
    """Owns the state."""

    def __init__(self, state: State) -> None:
        self.state = state

    def count(self, place: int) -> int:
        return int(self.state.counts[place])

    def want_users(self, more: int) -> None:
        used, state = self.count(USERS), self.state
        if used + more > state.users.size:
            users, suspects = extended(state.users, used, used + more), extended(state.suspects, used, used + more)
            self.state = state._replace(users=users, suspects=suspects, user_table=table_for(users.size))
            enter_users(self.state)

    def want_authors(self, more: int) -> None:
        used, state = self.count(AUTHORS), self.state
        if used + more > state.authors.size:
            authors = extended(state.authors, used, used + more)
            self.state = state._replace(authors=authors, author_table=table_for(authors.size))
            enter_authors(self.state)

    def want_slots(self, more: int) -> None:
        """Free ones are not counted: to go through them would cost more than it saves."""
        used, state = self.count(SLOTS_USED), self.state
        if used + more > state.posts.size:
            posts = extended(state.posts, used, used + more)
            writers = extended(state.post_authors, used, posts.size)
            self.state = state._replace(posts=posts, post_authors=writers, post_table=table_for(posts.size))
            enter_posts(self.state)

    def want_pool(self, more: int) -> None:
        used, state = self.count(POOL_USED), self.state
        if used + more > state.pool.size:
            pool = extended(state.pool, used, (used + more + _LINE) // _LINE * _LINE)
            self.state = state._replace(pool=pool, pool_words=pool.view(np.int64))

    def want_inboxes(self) -> None:
        """A few more slabs."""
        used = int(self.state.inboxes.heads[SLABS_USED])
        slabs = used + self.state.inboxes.sizes.size
        self.state = self.state._replace(inboxes=grown(self.state.inboxes, slabs))

    def want_followees(self, slabs: int) -> None:
        used = int(self.state.followees.heads[SLABS_USED])
        self.state = self.state._replace(followees=grown(self.state.followees, used + slabs))

    @property
    def memory_bytes(self) -> int:
        """What is in use of the arrays that grow at their end, and all of the others."""
        state = self.state
        rows = self.count(USERS) * (USER.itemsize + 4) + self.count(AUTHORS) * AUTHOR.itemsize
        rows += self.count(SLOTS_USED) * (POST.itemsize + 4) + self.count(POOL_USED)
        for blocks in (state.inboxes, state.followees):
            rows += int(blocks.heads[SLABS_USED]) * (int(blocks.heads[SLAB_WORDS]) * 4 + 4)
        return rows + state.user_table.nbytes + state.post_table.nbytes + state.author_table.nbytes
