"""A Delivery as rows: what walk.py writes, and what the compiled steps of applying it read.

Compiled code is given the address of a table, `c`: the fields of the Delivery, how many rows there are of each kind,
where they are, and how many there may be. The arrays are kept from record to record, and grow with the largest.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.store.memory import rows

# The table: fields of the Delivery, in their order; where a fault was met; how many readers all operations have.
PARTITION, SHARD, EPOCH, BATCH, PART, FAULT_AT, READERS = 0, 1, 2, 3, 4, 5, 6
# Kinds of rows: how many there are, where they are, how many there may be.
AUTHORS, POSTS, OPS, INDEXES, REFILLED = 8, 9, 10, 11, 12
AUTHORS_AT, POSTS_AT, OPS_AT, INDEXES_AT, REFILLED_AT, READERS_AT, NUMBERS_AT = 16, 17, 18, 19, 20, 21, 22
AUTHORS_MAX, POSTS_MAX, OPS_MAX, INDEXES_MAX, REFILLED_MAX = 24, 25, 26, 27, 28
TABLE_WORDS: Final = 32

AUTHOR_CHANGED: Final = np.dtype([("name_at", "i8"), ("name_size", "i8"), ("row", "i8")])
POST_TOLD: Final = np.dtype(
    [
        ("author", "i8"),  # its row here
        ("at", "i8"),  # all of it, in the record
        ("size", "i8"),
        ("number", "i8"),
        ("time_us", "i8"),
        ("id_at", "i8"),
        ("id_size", "i8"),
        ("by_at", "i8"),  # the author that it names
        ("by_size", "i8"),
        ("slot", "i8"),
    ]
)
OPERATION: Final = np.dtype(
    [
        ("op", "i8"),
        ("author", "i8"),  # its row here
        ("readers_at", "i8"),  # in the record: numbers
        ("readers", "i8"),  # how many
        ("first", "i8"),  # the place of the first one's row among all readers
        ("posts_at", "i8"),  # withdrawn: numbers in the record; spread: places of indexes, which become slots
        ("posts", "i8"),  # how many
        ("outbox", "i8"),
        ("older_left_out", "i8"),
    ]
)
REFILLED_ROW: Final = np.dtype([("reader", "i8"), ("request", "i8")])
UNFOLLOWED, WITHDRAWN, FOLLOWED, SPREAD = 0, 1, 2, 3

changed_at = rows(AUTHOR_CHANGED, AUTHORS_AT)
told_at = rows(POST_TOLD, POSTS_AT)
operation_at = rows(OPERATION, OPS_AT)
refilled_at = rows(REFILLED_ROW, REFILLED_AT)

NUMBER_BYTES: Final = 8

# What a walk can end with.
OK, FULL, NOT_PROTOBUF, NOT_TEXT, NOT_NUMBERS, NO_SUCH_POST, OTHER_AUTHOR = 0, 1, 2, 3, 4, 5, 6
FAULTS: Final = {
    NOT_PROTOBUF: "it is no protobuf message of that kind",
    NOT_TEXT: "an author or a post's id is no UTF-8",
    NOT_NUMBERS: "a list of numbers is not eight bytes for each",
    NO_SUCH_POST: "a spread names a post that the author's changes do not have",
    OTHER_AUTHOR: "a post is by another author than the changes that it is part of",
}

_ROWS: Final = 64


class Changes:
    """Owns the arrays."""

    def __init__(self) -> None:
        self.table = np.zeros(TABLE_WORDS, np.int64)
        self.address: int = self.table.ctypes.data
        kinds = (AUTHOR_CHANGED, POST_TOLD, OPERATION, np.dtype(np.int32), REFILLED_ROW)
        self._arrays: list[NDArray[Any]] = [np.empty(_ROWS, kind) for kind in kinds]
        self._readers, self._numbers = np.empty(_ROWS, np.int32), np.empty(_ROWS, np.int64)
        self._note()

    def _note(self) -> None:
        for kind, array in enumerate(self._arrays):
            self.table[AUTHORS_AT + kind], self.table[AUTHORS_MAX + kind] = array.ctypes.data, array.size
        self.table[READERS_AT], self.table[NUMBERS_AT] = self._readers.ctypes.data, self._numbers.ctypes.data

    def lengthen(self) -> None:
        """Those that were full. Nothing of them is kept."""
        for kind, array in enumerate(self._arrays):
            if self.table[AUTHORS + kind] == array.size:
                self._arrays[kind] = np.empty(2 * array.size, array.dtype)
        self._note()

    def want_readers(self) -> None:
        """As many as all operations have."""
        if self.table[READERS] > self._readers.size:
            size = 2 * self.table[READERS]
            self._readers, self._numbers = np.empty(size, np.int32), np.empty(size, np.int64)
            self._note()

    @property
    def memory_bytes(self) -> int:
        return sum(array.nbytes for array in (*self._arrays, self._readers, self._numbers))

    def field(self, place: int) -> int:
        return int(self.table[place])

    def rows(self, kind: int) -> NDArray[Any]:
        """AUTHORS, POSTS, OPS, INDEXES or REFILLED."""
        return self._arrays[kind - AUTHORS][: self.table[kind]]

    def reader(self, place: int) -> int:
        """The row of a user."""
        return int(self._readers[place])
