"""Writes what changed as Delivery records, none larger than it may be.

In:  what changed for the readers of one author in one timeline partition, author by author.
Out: records in order. A record ends where the next piece would make it too large; long lists of readers and of posts
     are cut into pieces. The parts of a batch, applied in order, give what one large record would have given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from penstock.delivery.numbers import Numbers, packed
from penstock.timeline.v1.delivery_pb2 import AuthorChanges, Delivery, Spread

RECORD_BYTES: Final = 512 << 10  # where a record ends; a single post may take it beyond
READERS_MAX: Final = 32 << 10  # in one piece
_PIECE_BYTES: Final = 64  # about what a piece takes beside its lists

Posts = Sequence[tuple[int, bytes]]  # (number, payload), newest first
NOBODY: Final = np.empty(0, np.uint64)


class Records:
    """The records of one (shard, batch, timeline partition)."""

    def __init__(self, *, partition: int, shard: int, epoch: int, batch: int) -> None:
        self._head = Delivery(timeline_partition=partition, shard=shard, epoch=epoch, batch=batch)
        self._done: list[bytes] = []
        self._entries = 0
        self._begin()

    @property
    def entries(self) -> int:
        """(post, reader) pairs that were written."""
        return self._entries

    def author(self, name: str) -> None:
        """What follows is about this author."""
        self._name = name
        self._changes: AuthorChanges | None = None

    def unfollowed(self, readers: Numbers) -> None:
        for some in _cut(readers):
            self._piece(some.nbytes).unfollowed += packed(some)

    def withdrawn(self, numbers: Sequence[int], readers: Numbers, *, outbox: bool = False) -> None:
        for begin in range(0, len(numbers), READERS_MAX):
            posts = np.array(numbers[begin : begin + READERS_MAX], np.uint64)
            for some in (NOBODY,) if outbox else _cut(readers):
                piece = self._piece(posts.nbytes + some.nbytes)
                piece.withdrawn.add(posts=packed(posts), readers=packed(some), outbox=outbox)

    def followed(self, readers: Numbers) -> None:
        for some in _cut(readers):
            self._piece(some.nbytes).followed += packed(some)

    def spread(self, posts: Posts, readers: Numbers, *, outbox: bool = False, older_left_out: bool = False) -> None:
        """`older_left_out` speaks of what is older than all of these."""
        for some in (NOBODY,) if outbox else _cut(readers):
            begin = 0
            for end in _groups(posts):
                left_out = older_left_out and end == len(posts)
                self._spread(posts[begin:end], some, outbox=outbox, older_left_out=left_out)
                begin = end
            self._entries += len(posts) * (1 if outbox else len(some))

    def refilled(self, reader: int, request: int) -> None:
        self._room_for(_PIECE_BYTES)
        self._record.refilled.add(reader=reader, request=request)

    def finished(self) -> list[bytes]:
        self._end()
        return self._done

    def _spread(self, posts: Posts, readers: Numbers, *, outbox: bool, older_left_out: bool) -> None:
        new = [payload for number, payload in posts if number not in self._listed]
        piece = self._piece(sum(map(len, new)) + 8 * len(posts) + readers.nbytes)
        spread = Spread(readers=packed(readers), outbox=outbox, older_left_out=older_left_out)
        for number, payload in posts:
            index = self._listed.get(number)
            if index is None:
                index = self._listed[number] = len(piece.posts)
                piece.posts.add().ParseFromString(payload)
            spread.posts.append(index)
        piece.spread.append(spread)

    def _piece(self, size: int) -> AuthorChanges:
        """Where the next piece goes: the author's changes in this record, or in the next one."""
        self._room_for(size + _PIECE_BYTES)
        if self._changes is None:
            self._changes = self._record.authors.add(author=self._name)
            self._listed: dict[int, int] = {}
            self._size += len(self._name)
        return self._changes

    def _room_for(self, size: int) -> None:
        if self._size and self._size + size > RECORD_BYTES:
            self._end()
            self._begin()
        self._size += size

    def _begin(self) -> None:
        self._record = Delivery(part=len(self._done))
        self._record.MergeFrom(self._head)
        self._size = 0
        self._changes = None
        self._listed = {}

    def _end(self) -> None:
        if self._size:
            self._done.append(self._record.SerializeToString())


def _cut(readers: Numbers) -> Iterator[Numbers]:
    for begin in range(0, len(readers), READERS_MAX):
        yield readers[begin : begin + READERS_MAX]


def _groups(posts: Posts) -> Iterator[int]:
    """Where to cut, so that each group of posts fits into a record beside its readers."""
    size = 0
    for index, (_, payload) in enumerate(posts):
        if size and size + len(payload) > RECORD_BYTES // 2:
            yield index
            size = 0
        size += len(payload)
    if posts:
        yield len(posts)
