"""A Delivery as arrays: what walk.py writes and what the compiled steps of applying it read.

Rows are int64. An operation is one list of readers, with what happens to them; `indexes` has, for each operation that
spreads, its posts' rows. The arrays are kept from record to record and grow with the largest.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

# The head: fields of the Delivery, then how many rows there are.
PARTITION, SHARD, EPOCH, BATCH, PART, AUTHORS, POSTS, OPS, INDEXES, REFILLED, READERS, FAULT_AT = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
)
HEAD_COLUMNS: Final = 12

# An author: the name in the record; then the row in State.authors.
NAME_AT, NAME_SIZE, ROW = 0, 1, 2
AUTHOR_COLUMNS: Final = 3

# A post: its author's row here, all of it in the record, its fields; then the slot.
AUTHOR, AT, SIZE, NUMBER, TIME_US, ID_AT, ID_SIZE, BY_AT, BY_SIZE, SLOT = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
POST_COLUMNS: Final = 10

# An operation: what happens, by which author (as above); readers in the record, and as rows in `readers` from FIRST on;
# posts: numbers in the record (withdrawn), or from POSTS_AT on in `indexes` (spread).
OP, OP_AUTHOR, READERS_AT, READER_COUNT, FIRST, POSTS_AT, POST_COUNT, OUTBOX, OLDER_LEFT_OUT = 0, 1, 2, 3, 4, 5, 6, 7, 8
OP_COLUMNS: Final = 9
UNFOLLOWED, WITHDRAWN, FOLLOWED, SPREAD = 0, 1, 2, 3

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

Rows = NDArray[np.int64]


class Changes(NamedTuple):
    """The arrays."""

    head: NDArray[np.int64]
    authors: Rows
    posts: Rows
    ops: Rows
    indexes: NDArray[np.int32]  # rows of posts; then slots
    refilled: Rows  # reader, request: 64 bits each
    readers: NDArray[np.int32]  # rows of State.users, or NONE


def empty_changes() -> Changes:
    return Changes(
        np.zeros(HEAD_COLUMNS, np.int64),
        np.empty((64, AUTHOR_COLUMNS), np.int64),
        np.empty((64, POST_COLUMNS), np.int64),
        np.empty((64, OP_COLUMNS), np.int64),
        np.empty(64, np.int32),
        np.empty((16, 2), np.int64),
        np.empty(64, np.int32),
    )


def longer(changes: Changes) -> Changes:
    """Where one of the arrays was full: all that are."""

    def grown(array: NDArray[Any], used: int) -> NDArray[Any]:
        return array if used < len(array) else np.empty((2 * len(array), *array.shape[1:]), array.dtype)

    head = changes.head
    return changes._replace(
        authors=grown(changes.authors, head[AUTHORS]),
        posts=grown(changes.posts, head[POSTS]),
        ops=grown(changes.ops, head[OPS]),
        indexes=grown(changes.indexes, head[INDEXES]),
        refilled=grown(changes.refilled, head[REFILLED]),
    )
