"""Deliveries by hand, for tests of the store: one shard, one partition, one record after the other.

In:  what changed for an author's readers, users by name. Out: records, applied to a partition.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from penstock.delivery.numbers import packed, post_key, user_number
from penstock.timeline.v1.delivery_pb2 import AuthorChanges, Delivery, Post, RefillRequest, Spread, Withdrawal
from penstock.timelines.store import Applied, Partition, Place, Shape


def numbers(users: Iterable[str]) -> bytes:
    return packed(np.array(sorted(user_number(user) for user in users), np.uint64))


def post(author: str, post_id: str, time_us: int, text: str = "") -> Post:
    number = post_key(author, f"{post_id} at {time_us}: {text}")
    return Post(id=post_id, author=author, time_us=time_us, number=number, attributes={"text": text} if text else {})


def followed(author: str, users: Iterable[str]) -> AuthorChanges:
    return AuthorChanges(author=author, followed=numbers(users))


def unfollowed(author: str, users: Iterable[str]) -> AuthorChanges:
    return AuthorChanges(author=author, unfollowed=numbers(users))


def spread(posts: list[Post], users: Iterable[str] = (), **flags: bool) -> AuthorChanges:
    """Of one author. `outbox`, `older_left_out` as in Spread."""
    to = Spread(posts=range(len(posts)), readers=numbers(users), **flags)
    return AuthorChanges(author=posts[0].author, posts=posts, spread=[to])


def withdrawn(posts: list[Post], users: Iterable[str] = (), **flags: bool) -> AuthorChanges:
    some = packed(np.array([one.number for one in posts], np.uint64))
    return AuthorChanges(author=posts[0].author, withdrawn=[Withdrawal(posts=some, readers=numbers(users), **flags)])


class Maker:
    """Makes records for a partition, in order."""

    def __init__(self, shape: Shape, shard: int = 0) -> None:
        self.partition = Partition(0, shape)
        self.shard, self.epoch, self.batch = shard, 1, 0

    def record(self, *authors: AuthorChanges, part: int = 0, refilled: Iterable[tuple[int, int]] = ()) -> bytes:
        """The next one: another batch, or another part of it."""
        self.batch += part == 0
        record = Delivery(shard=self.shard, epoch=self.epoch, batch=self.batch, part=part, authors=authors)
        for reader, request in refilled:
            record.refilled.add(reader=reader, request=request)
        return record.SerializeToString(deterministic=True)

    def tell(self, *authors: AuthorChanges, refilled: Iterable[tuple[int, int]] = ()) -> Applied:
        return self.partition.apply(self.record(*authors, refilled=refilled), self.partition.next_offset)

    def asked(self) -> list[RefillRequest]:
        """All that is to be asked for now."""
        refills = self.partition.refills()
        return [RefillRequest.FromString(message) for refill in refills for _, message in refill.records]

    def sees(self, user: str) -> list[str]:
        """Ids of posts, newest first."""
        return [place.post_id for place in self.places(user)]

    def places(self, user: str) -> list[Place]:
        return [self.partition.place(slot) for slot in self.partition.view(user_number(user))]
