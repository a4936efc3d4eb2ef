"""What bench-timeline is made of: who follows whom, who posts, and the rows that say so.

In:  how many users and edges, a seed, what time it is. Out: arrays of edges, authors of posts, and rows as the tables'
     topics have them.
Pure, and the same for the same arguments. Followers are spread over authors by a power law (the author of rank r has a
share of about r^-0.8), followees over users more evenly; authors with more followers post more (by the square root).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from penstock.tables.v1.row_change_pb2 import Op, RowChange
from penstock.topics import murmur2_partition

POSTS, FOLLOWS = "tables.posts.v1", "tables.follows.v1"
PARTITIONS = 8
TEXT = "the quick brown fox jumps over the lazy dog, and the dog thinks nothing of it"
FOLLOWERS_POWER = 0.8
FOLLOWEES_SIGMA = 0.7  # of a log-normal distribution
POSTS_POWER = 0.5
_HEAD = b"bench\0boot\0"

Ids = NDArray[np.int64]


def user_name(number: int) -> str:
    return f"u{number}"


@dataclass(frozen=True)
class Edges:
    """The n-th edge: a follower of an author, as numbers of users. No edge twice, nobody follows himself."""

    author: Ids
    follower: Ids

    def __len__(self) -> int:
        return len(self.author)


def power_law(users: int, edges: int, seed: int) -> Edges:
    """In random order."""
    if edges > users * (users - 1) // 4:
        raise ValueError(f"{edges} edges are too many for {users} users to draw them at random")
    draw = np.random.default_rng(seed)
    rank = draw.permutation(users) + 1.0  # so that famous users are spread over all shards
    by_author = np.cumsum(rank**-FOLLOWERS_POWER)
    by_follower = np.cumsum(draw.lognormal(0.0, FOLLOWEES_SIGMA, users))
    known = np.empty(0, np.int64)
    while len(known) < edges:
        wanted = int((edges - len(known)) * 1.3) + 100
        author = np.searchsorted(by_author, draw.random(wanted) * by_author[-1])
        follower = np.searchsorted(by_follower, draw.random(wanted) * by_follower[-1])
        known = np.union1d(known, (author * users + follower)[author != follower])
    chosen = draw.permutation(known)[:edges]
    return Edges(chosen // users, chosen % users)


@dataclass(frozen=True)
class Audience:
    """Followers by author, side by side."""

    starts: Ids
    follower: Ids

    @classmethod
    def of(cls, edges: Edges, users: int) -> Audience:
        counts = np.bincount(edges.author, minlength=users)
        order = np.argsort(edges.author, kind="stable")
        return cls(np.concatenate([[0], np.cumsum(counts)]), edges.follower[order])

    @property
    def counts(self) -> Ids:
        return np.diff(self.starts)

    def __getitem__(self, author: int) -> Ids:
        return self.follower[self.starts[author] : self.starts[author + 1]]


def authors_of_posts(followers: Ids, count: int, seed: int) -> Ids:
    """Who writes each of so many posts. Only who has followers."""
    weights = np.cumsum(followers.astype(np.float64) ** POSTS_POWER * (followers > 0))
    chosen: Ids = np.searchsorted(weights, np.random.default_rng(seed).random(count) * weights[-1], side="right")
    return chosen


class Row(NamedTuple):
    """A record of a table's topic."""

    topic: str
    partition: int
    key: bytes
    value: bytes


class Rows:
    """Makes rows. Every version has a position and a time of its own, so that the last one made of a row counts."""

    def __init__(self, now_us: int) -> None:
        self._time_us = now_us
        self._made = 0
        self._partitions: dict[str, int] = {}

    def follow(self, follower: str, author: str, *, ends: bool = False) -> Row:
        return self._row("follows", FOLLOWS, f"{follower}/{author}", author, self._next_us(), ends=ends)

    def post(self, author: str, post_id: str, *, time_us: int | None = None, ends: bool = False) -> Row:
        """Of the time given, else the next one."""
        time = self._next_us() if time_us is None else time_us
        return self._row("posts", POSTS, f"{author}/{post_id}", author, time, ends=ends)

    def follows(self, edges: Edges) -> Iterator[Row]:
        for author, follower in zip(edges.author.tolist(), edges.follower.tolist(), strict=True):
            yield self.follow(user_name(follower), user_name(author))

    def posts(self, authors: Iterable[int], run: str) -> Iterator[Row]:
        for number, author in enumerate(authors):
            yield self.post(user_name(author), f"{run}-{number}")

    def _next_us(self) -> int:
        self._time_us += 1
        return self._time_us

    def _row(self, table: str, topic: str, key: str, author: str, time_us: int, *, ends: bool) -> Row:
        self._made += 1
        change = RowChange(table=table, key=key, op=Op.OP_DELETE if ends else Op.OP_UPSERT)
        change.version.valid_from_us = time_us
        change.version.position = _HEAD + self._made.to_bytes(8, "big")
        if table == "posts" and not ends:
            change.columns["text"] = TEXT
            change.columns["language"] = "en"
        partition = self._partitions.get(author)
        if partition is None:
            partition = self._partitions[author] = murmur2_partition(author.encode(), PARTITIONS)
        return Row(topic, partition, key.encode(), change.SerializeToString())
