"""The arrays of a partition, and larger ones when they are full.

In:  how much room is needed. Out: `s`, the address of the table (layout.py) that compiled code is given.
Arrays at least double, so that a row is moved about once in its life. What was never used of an array takes no memory:
the system gives it page by page.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray
from penstock.timelines.store import layout as at
from penstock.timelines.store.blocks import empty_blocks, grown
from penstock.timelines.store.contents import Contents
from penstock.timelines.store.layout import AUTHOR, NONE, POOL_KINDS, POST, USER
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
_NAMES: Final = ("users", "posts", "writers", "authors", "pool", "pool_free", "suspects", "scratch")


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


class Columns:
    """Owns everything that is in arrays. Empty at first."""

    def __init__(self, number: int, shape: Shape, salt: int) -> None:
        self.table = np.zeros(at.TABLE_WORDS, np.int64)
        self.s: int = self.table.ctypes.data
        self.table[at.CAPACITY], self.table[at.ROOM] = shape.capacity, shape.room
        self.table[at.PARTITION], self.table[at.PARTITIONS] = number, shape.partitions
        self.table[at.SALT] = np.uint64(salt & (1 << 64) - 1).view(np.int64)
        self.table[at.SLOT_FREE] = NONE
        self.users = aligned(USER, _ROWS)
        self.posts = aligned(POST, _ROWS)
        self.writers: NDArray[np.int32] = aligned(np.int32, _ROWS)
        self.authors = aligned(AUTHOR, _ROWS)
        self.pool: NDArray[np.uint8] = aligned(np.uint8, _POOL_BYTES)
        self.pool_free = np.full(POOL_KINDS, NONE, np.int64)
        self.scratch = np.empty(shape.room + 1, np.int32)  # for one inbox
        slab = shape.room + 1
        self.inboxes = empty_blocks(slab, sorted({slab // share - 1 for share in _SHARES} - {0, -1}), _SLABS)
        sizes = [(4 << kind) - 1 for kind in range(_FOLLOWEES_KINDS)]
        self.followees = empty_blocks(_FOLLOWEES_SLAB, sizes, _SLABS)
        self.outboxes: list[int] = []  # rows of users
        self.enter()

    def count(self, place: int) -> int:
        return int(self.table[place])

    def enter(self) -> None:
        """Hash tables for rows as they are now; everything into the table."""
        self.suspects: NDArray[np.int32] = aligned(np.int32, self.users.size)
        self.user_table = table_for(self.users.size)
        self.post_table = table_for(self.posts.size)
        self.author_table = table_for(self.authors.size)
        self._note()
        enter_users(self.s)
        enter_authors(self.s)
        enter_posts(self.s)

    def _note(self) -> None:
        """Where everything is."""
        for place, name in enumerate(_NAMES):
            self.table[at.USERS_AT + place] = getattr(self, name).ctypes.data
        self.table[at.USERS_MAX] = self.users.size
        for place, table in enumerate((self.user_table, self.post_table, self.author_table)):
            self.table[at.USER_TABLE_AT + 2 * place : at.USER_TABLE_AT + 2 * place + 2] = table.ctypes.data, table.size
        for place, blocks, field in (
            (at.INBOXES, self.inboxes, "block"),
            (at.FOLLOWEES, self.followees, "followees_block"),
        ):
            entries = blocks.table(notes_at=self.users[field].ctypes.data)
            self.table[place : place + len(entries)] = entries
        self.contents = Contents(self.posts, self.pool, self.author_name)

    def want_users(self, more: int) -> None:
        used = self.count(at.USERS)
        if used + more > self.users.size:
            self.users = extended(self.users, used, used + more)
            self.suspects = extended(self.suspects, self.count(at.SUSPECTS), self.users.size)
            self.user_table = table_for(self.users.size)
            self._note()
            enter_users(self.s)

    def want_authors(self, more: int) -> None:
        used = self.count(at.AUTHORS)
        if used + more > self.authors.size:
            self.authors = extended(self.authors, used, used + more)
            self.author_table = table_for(self.authors.size)
            self._note()
            enter_authors(self.s)

    def want_slots(self, more: int) -> None:
        """Free ones are not counted: a few too many do no harm."""
        used = self.count(at.SLOTS_USED)
        if used + more > self.posts.size:
            self.posts = extended(self.posts, used, used + more)
            self.writers = extended(self.writers, used, self.posts.size)
            self.post_table = table_for(self.posts.size)
            self._note()
            enter_posts(self.s)

    def want_pool(self, more: int) -> None:
        used = self.count(at.POOL_USED)
        if used + more > self.pool.size:
            self.pool = extended(self.pool, used, used + more)
            self._note()

    def want_inboxes(self) -> None:
        """As many slabs as one inbox can take in turn."""
        self.inboxes = grown(self.inboxes, self.inboxes.slabs_used + self.inboxes.sizes.size)
        self._note()

    def want_followees(self, slabs: int) -> None:
        self.followees = grown(self.followees, self.followees.slabs_used + slabs)
        self._note()

    @property
    def memory_bytes(self) -> int:
        """What is in use of the arrays that grow at their end, and all of the others."""
        rows = self.count(at.USERS) * (USER.itemsize + 4) + self.count(at.AUTHORS) * AUTHOR.itemsize
        rows += self.count(at.SLOTS_USED) * (POST.itemsize + 4) + self.count(at.POOL_USED)
        arenas = sum(blocks.slabs_used * (4 * blocks.slab_words + 4) for blocks in (self.inboxes, self.followees))
        return rows + arenas + self.user_table.nbytes + self.post_table.nbytes + self.author_table.nbytes

    def author_name(self, row: int) -> str:
        author = self.authors[row]
        begin = int(author["at"])
        return self.pool[begin : begin + int(author["size"])].tobytes().decode()
