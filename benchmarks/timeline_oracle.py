"""What every timeline must be, from the tables' logs alone: bench-timeline's audit.

In:  the logs of posts and follows. Out: for each timeline partition the canonical hash of its timelines.
Shares with the join and the service how a row is read (penstock.delivery) and nothing else: no batches, no deltas, no
inboxes. Of each row the greatest version counts; posts are sorted by (time, id, author) once; each user gets the newest
of those whom he follows. A shard of the logs is complete in itself: they are read one by one, in two processes.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from penstock.delivery.numbers import partition_of
from penstock.delivery.rows import Rows
from penstock.pipeline import load
from penstock.tables.v1.row_change_pb2 import RowChange
from penstock.topics.content import content
from timeline_data import FOLLOWS, PARTITIONS, POSTS

MODULUS = 1 << 128
PROCESSES = 2

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
Version = tuple[int, bytes]


@dataclass(frozen=True)
class Post:
    author: str
    id: str
    time_us: int
    number: int
    payload_hash: int


@dataclass(frozen=True)
class Shard:
    """What lives in one partition of the logs: posts, and followers by author."""

    posts: list[Post]
    followers: dict[str, U64]


def read_shard(bootstrap: str, pipeline: Path, number: int) -> Shard:
    rows = Rows(load(pipeline))
    posts = list(living_posts(rows, values(bootstrap, POSTS, number)))
    return Shard(posts, followers(rows, values(bootstrap, FOLLOWS, number)))


def values(bootstrap: str, topic: str, partition: int) -> Iterator[bytes]:
    for message in content({"bootstrap.servers": bootstrap}, topic, partitions=[partition]):
        yield message.value() or b""


def living_posts(rows: Rows, log: Iterator[bytes]) -> Iterator[Post]:
    greatest: dict[tuple[str, str], tuple[Version, Post | None]] = {}
    for value in log:
        row = rows.post(RowChange.FromString(value))
        version, key = (row.time_us, row.position), (row.author, row.id)
        known = greatest.get(key)
        if known is None or version > known[0]:
            post = None
            if row.payload is not None:
                digest = int.from_bytes(blake2b(row.payload, digest_size=8).digest(), "little")
                post = Post(row.author, row.id, row.time_us, row.number, digest)
            greatest[key] = version, post
    return (post for _, post in greatest.values() if post is not None)


def followers(rows: Rows, log: Iterator[bytes]) -> dict[str, U64]:
    greatest: dict[str, dict[int, tuple[Version, bool]]] = {}
    for value in log:
        row = rows.follow(RowChange.FromString(value))
        version, edges = (row.time_us, row.position), greatest.setdefault(row.author, {})
        known = edges.get(row.number)
        if known is None or version > known[0]:
            edges[row.number] = version, row.alive
    return {
        author: np.array([user for user, (_, alive) in edges.items() if alive], np.uint64)
        for author, edges in greatest.items()
    }


class Oracle:
    """All timelines, made when they are asked for."""

    def __init__(self, shards: list[Shard], capacity: int) -> None:
        self._capacity = capacity
        posts = sorted((post for shard in shards for post in shard.posts), key=_order, reverse=True)
        words = [(post.time_us, post.number, post.payload_hash) for post in posts]
        self._words: U64 = np.array(words, np.uint64).reshape(-1, 3)  # newest first: a post's rank is its row
        ranks: dict[str, list[int]] = {}
        for rank, post in enumerate(posts):
            own = ranks.setdefault(post.author, [])
            if len(own) < capacity:
                own.append(rank)
        audiences = [(author, users) for shard in shards for author, users in shard.followers.items() if len(users)]
        self._ranks = [np.array(ranks.get(author, []), np.int64) for author, _ in audiences]
        sizes = [len(users) for _, users in audiences]
        user = np.concatenate([np.empty(0, np.uint64), *(users for _, users in audiences)])
        order = np.argsort(user, kind="stable")
        self._followees: I64 = np.repeat(np.arange(len(audiences)), sizes)[order]
        self.users: U64
        self.users, starts = np.unique(user[order], return_index=True)
        self._starts: I64 = np.append(starts, len(user))

    def timeline(self, index: int) -> U64:
        """Of the user with this index: (time, number, hash of the bytes) of each post, newest first."""
        followees = self._followees[self._starts[index] : self._starts[index + 1]].tolist()
        ranks = np.concatenate([self._ranks[author] for author in followees])
        if len(ranks) > self._capacity:
            ranks = np.partition(ranks, self._capacity)[: self._capacity]
        ranks.sort()
        posts: U64 = self._words[ranks]
        return posts

    def hashes(self, partitions: int) -> list[int]:
        """By timeline partition, as Describe has them."""
        sums = [0] * partitions
        for index, user in enumerate(self.users.tolist()):
            posts = self.timeline(index)
            if len(posts):
                data = user.to_bytes(8, "little") + posts.astype("<u8", copy=False).tobytes()
                sums[partition_of(user, partitions)] += int.from_bytes(blake2b(data, digest_size=16).digest(), "little")
        return [one % MODULUS for one in sums]


def _order(post: Post) -> tuple[int, bytes, bytes]:
    return post.time_us, post.id.encode(), post.author.encode()


def read_oracle(bootstrap: str, pipeline: Path, capacity: int) -> Oracle:
    apart = multiprocessing.get_context("spawn")  # librdkafka's threads do not survive a fork
    with ProcessPoolExecutor(PROCESSES, mp_context=apart) as processes:
        shards = list(processes.map(read_shard, [bootstrap] * PARTITIONS, [pipeline] * PARTITIONS, range(PARTITIONS)))
    return Oracle(shards, capacity)
