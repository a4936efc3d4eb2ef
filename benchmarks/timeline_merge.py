"""What it costs a reader to merge the posts of one more author whose followers are not written to.

In:  nothing. Out: CPU microseconds per read and outbox merged, and of a read that merges none.
Measured in the store itself, without gRPC, whose cost a read has anyway: a full inbox, and from none to many outboxes
that are full and as new as the inbox. A page of 50 posts from the newest on, as `GetTimeline` reads it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from penstock.delivery.numbers import packed, post_key, post_number, user_number
from penstock.timeline.v1.delivery_pb2 import AuthorChanges, Delivery, Post, Spread
from penstock.timelines.store import Partition, Shape

CAPACITY, SLACK = 800, 200
OUTBOXES = (0, 1, 2, 4, 8, 16, 32)
READS = 2_000
ROUNDS = 5
LIMIT = 50
FOLLOWED = 20  # authors whose posts are in the inbox


class Merging(NamedTuple):
    """CPU microseconds."""

    read_us: float  # that merges nothing
    outbox_us: float  # for each one merged, where they are as many as make it dearest


def posts_of(author: str, count: int, first_us: int, step_us: int) -> list[Post]:
    posts = []
    for number in range(count):
        post = Post(id=f"p{number}", author=author, time_us=first_us + number * step_us)
        post.number = post_number(post_key(author, post.id), post.time_us, b"")
        post.attributes["text"] = "the quick brown fox jumps over the lazy dog"
        posts.append(post)
    return posts


def changes(author: str, readers: Iterable[int], posts: list[Post], *, outbox: bool) -> AuthorChanges:
    numbers = packed(np.array(sorted(readers), np.uint64))
    spread = Spread(posts=range(len(posts)), readers=b"" if outbox else numbers, outbox=outbox)
    return AuthorChanges(author=author, followed=numbers, posts=posts, spread=[spread])


def filled() -> tuple[Partition, dict[int, int]]:
    """A partition with a reader for each number of outboxes; readers by that number."""
    partition = Partition(0, Shape(CAPACITY, SLACK, 1, 1))
    readers = {outboxes: user_number(f"reader of {outboxes}") for outboxes in OUTBOXES}
    each = CAPACITY // FOLLOWED
    record = Delivery(epoch=1, batch=1)
    for author in range(FOLLOWED):
        posts = posts_of(f"author {author}", each, 1_000_000 + author, FOLLOWED)
        record.authors.append(changes(f"author {author}", readers.values(), posts, outbox=False))
    for star in range(max(OUTBOXES)):
        posts = posts_of(f"star {star}", CAPACITY, 1_000_000 + star, 1)
        wanted = [reader for outboxes, reader in readers.items() if star < outboxes]
        record.authors.append(changes(f"star {star}", wanted, posts, outbox=True))
    partition.apply(record.SerializeToString(), 0)
    return partition, readers


def measure_merging() -> Merging:
    partition, readers = filled()
    best = {outboxes: float("inf") for outboxes in OUTBOXES}
    for _ in range(ROUNDS):
        for outboxes, reader in readers.items():
            began = time.process_time()
            for _ in range(READS):
                partition.page(reader, None, newer=False, limit=LIMIT)
            best[outboxes] = min(best[outboxes], (time.process_time() - began) / READS * 1e6)
    alone = best.pop(0)
    return Merging(alone, max((took - alone) / outboxes for outboxes, took in best.items()))
