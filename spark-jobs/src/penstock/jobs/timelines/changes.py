"""What came in one batch of one shard, each row once.

In:  records of the two tables and of refill requests, in any order.
Out: a `Batch`: of each post and each follow the change with the greatest version; and the batch as a bundle, for the
     log of the shard's state, from which the same batch can be read again.
Records that cannot be understood are counted and left out: only our own steps write these topics, nobody can be asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from google.protobuf.message import DecodeError
from penstock.delivery.rows import Rows
from penstock.jobs.timelines.bundle import Bundle, split, texts
from penstock.jobs.timelines.posts import PostChange
from penstock.tables.v1.row_change_pb2 import Op, RowChange
from penstock.timeline.v1.delivery_pb2 import RefillRequest

POSTS, FOLLOWS, REFILLS = 0, 1, 2


class FollowChange(NamedTuple):
    """A change of one follow."""

    author: str
    follower: int
    time_us: int
    position: bytes
    follows: bool


class Cut(NamedTuple):
    """A truncate: all rows with a lesser version are gone."""

    time_us: int
    position: bytes


@dataclass
class Batch:
    posts: list[PostChange] = field(default_factory=list)
    follows: list[FollowChange] = field(default_factory=list)
    posts_cut: Cut | None = None
    follows_cut: Cut | None = None
    refills: list[RefillRequest] = field(default_factory=list)
    unreadable: int = 0

    @property
    def changes_state(self) -> bool:
        return bool(self.posts or self.follows or self.posts_cut or self.follows_cut)


class Reader:
    """Reads the records of one batch."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def batch(self, records: Iterable[tuple[int, bytes | None]]) -> Batch:
        """From (kind, value) of each record; a record without a value is for the broker's compaction only."""
        batch = Batch()
        posts: dict[int, PostChange] = {}
        follows: dict[tuple[str, int], FollowChange] = {}
        for kind, value in records:
            if value is None:
                continue
            try:
                if kind == REFILLS:
                    batch.refills.append(RefillRequest.FromString(value))
                    continue
                change = RowChange.FromString(value)
                if change.op == Op.OP_TRUNCATE:
                    self._truncate(batch, kind, change)
                elif kind == POSTS:
                    self._post(posts, change)
                else:
                    self._follow(follows, change)
            except (DecodeError, ValueError):
                batch.unreadable += 1
        batch.posts = sorted(posts.values(), key=lambda one: (one.author, one.key))
        batch.follows = sorted(follows.values(), key=lambda one: (one.author, one.follower))
        batch.refills.sort(key=lambda one: (one.timeline_partition, one.reader, one.request))
        return batch

    def _post(self, posts: dict[int, PostChange], change: RowChange) -> None:
        row = self._rows.post(change)
        known = posts.get(row.key)
        if known is None or (row.time_us, row.position) > (known.time_us, known.position):
            posts[row.key] = PostChange(row.author, row.id, row.key, row.number, row.time_us, row.position, row.payload)

    def _follow(self, follows: dict[tuple[str, int], FollowChange], change: RowChange) -> None:
        row = self._rows.follow(change)
        edge = row.author, row.number
        known = follows.get(edge)
        if known is None or (row.time_us, row.position) > (known.time_us, known.position):
            follows[edge] = FollowChange(row.author, row.number, row.time_us, row.position, row.alive)

    def _truncate(self, batch: Batch, kind: int, change: RowChange) -> None:
        cut = Cut(change.version.valid_from_us, change.version.position)
        if kind == POSTS:
            batch.posts_cut = max(batch.posts_cut or cut, cut)
        else:
            batch.follows_cut = max(batch.follows_cut or cut, cut)


def bundle_of(batch: Batch) -> Bundle:
    """All of the batch that changes state."""
    names = sorted({one.author for one in batch.posts} | {one.author for one in batch.follows})
    index = {name: number for number, name in enumerate(names)}
    bundle: Bundle = {}
    _put_texts(bundle, "names", [name.encode() for name in names])
    _put_numbers(bundle, "post.author", np.int64, [index[one.author] for one in batch.posts])
    _put_numbers(bundle, "post.key", np.uint64, [one.key for one in batch.posts])
    _put_numbers(bundle, "post.number", np.uint64, [one.number for one in batch.posts])
    _put_numbers(bundle, "post.time", np.int64, [one.time_us for one in batch.posts])
    _put_numbers(bundle, "post.alive", np.uint8, [one.payload is not None for one in batch.posts])
    _put_texts(bundle, "post.id", [one.id.encode() for one in batch.posts])
    _put_texts(bundle, "post.position", [one.position for one in batch.posts])
    _put_texts(bundle, "post.payload", [one.payload or b"" for one in batch.posts])
    _put_numbers(bundle, "follow.author", np.int64, [index[one.author] for one in batch.follows])
    _put_numbers(bundle, "follow.follower", np.uint64, [one.follower for one in batch.follows])
    _put_numbers(bundle, "follow.time", np.int64, [one.time_us for one in batch.follows])
    _put_numbers(bundle, "follow.alive", np.uint8, [one.follows for one in batch.follows])
    _put_texts(bundle, "follow.position", [one.position for one in batch.follows])
    for name, cut in (("cut.posts", batch.posts_cut), ("cut.follows", batch.follows_cut)):
        if cut is not None:
            _put_numbers(bundle, f"{name}.time", np.int64, [cut.time_us])
            _put_texts(bundle, f"{name}.position", [cut.position])
    return bundle


def batch_of(bundle: Bundle) -> Batch:
    """The batch again, without its refill requests."""
    names = [name.decode() for name in _texts(bundle, "names")]
    posts = zip(
        bundle["post.author"].tolist(), _texts(bundle, "post.id"), bundle["post.key"].tolist(),
        bundle["post.number"].tolist(), bundle["post.time"].tolist(), _texts(bundle, "post.position"),
        _texts(bundle, "post.payload"), bundle["post.alive"].tolist(), strict=True,
    )  # fmt: skip
    follows = zip(
        bundle["follow.author"].tolist(), bundle["follow.follower"].tolist(), bundle["follow.time"].tolist(),
        _texts(bundle, "follow.position"), bundle["follow.alive"].tolist(), strict=True,
    )  # fmt: skip
    return Batch(
        [
            PostChange(names[author], post_id.decode(), key, number, time, position, payload if alive else None)
            for author, post_id, key, number, time, position, payload, alive in posts
        ],
        [
            FollowChange(names[author], number, time, position, bool(alive))
            for author, number, time, position, alive in follows
        ],
        _cut(bundle, "cut.posts"),
        _cut(bundle, "cut.follows"),
    )


def _cut(bundle: Bundle, name: str) -> Cut | None:
    if f"{name}.time" not in bundle:
        return None
    return Cut(int(bundle[f"{name}.time"][0]), _texts(bundle, f"{name}.position")[0])


def _put_numbers(bundle: Bundle, name: str, kind: type[np.generic], values: list[int]) -> None:
    bundle[name] = np.array(values, kind)


def _put_texts(bundle: Bundle, name: str, values: list[bytes]) -> None:
    bundle[name], bundle[f"{name}.ends"] = texts(values)


def _texts(bundle: Bundle, name: str) -> list[bytes]:
    return split(bundle[name], bundle[f"{name}.ends"])
