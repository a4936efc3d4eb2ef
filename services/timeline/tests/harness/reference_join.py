"""The join of posts and follows in plain Python: what deliveries mean, written for reading and not for speed.

In:  changes of the tables (in any order, any versions) and refill requests, batch by batch.
Out: Delivery records for every timeline partition, cut into parts wherever the contract lets them be cut.
One object is one shard. `begin_anew` is a life without the memory of the one before: a greater epoch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

import numpy as np
from penstock.delivery.numbers import packed, partition_of, user_number
from penstock.delivery.rows import FollowRow, PostRow
from penstock.timeline.v1.delivery_pb2 import AuthorChanges, Delivery, Post, RefillRequest, Spread, Withdrawal
from timeline_definition import place

Versions = dict[tuple[str, str], tuple[int, bytes]]


@dataclass
class AuthorState:
    followers: set[int] = field(default_factory=set)
    inbox_posts: dict[int, PostRow] = field(default_factory=dict)  # by number: live ones that went to inboxes
    outbox_posts: dict[int, PostRow] = field(default_factory=dict)

    def copy(self) -> AuthorState:
        return AuthorState(set(self.followers), dict(self.inbox_posts), dict(self.outbox_posts))


class ReferenceJoin:
    """`room`: how many posts a new follower gets at most. `merge_above`: with more followers, posts go to outboxes."""

    def __init__(self, shard: int, partitions: int, room: int, merge_above: int) -> None:
        self.shard, self.partitions, self.room, self.merge_above = shard, partitions, room, merge_above
        self.epoch = 0
        self.begin_anew()

    def begin_anew(self) -> None:
        self.epoch += 1
        self.batch = 0
        self._versions: Versions = {}
        self.authors: dict[str, AuthorState] = defaultdict(AuthorState)
        self._post_of: dict[tuple[str, str], int] = {}

    def run(
        self, posts: Iterable[PostRow], follows: Iterable[FollowRow], refills: Iterable[RefillRequest], random: Random
    ) -> list[tuple[int, bytes]]:
        """One batch: records as (timeline partition, value), in order."""
        asked = list(refills)
        before = {name: state.copy() for name, state in self.authors.items()}
        for follow in follows:
            self._take_follow(follow)
        for post in posts:
            self._take_post(post)
        self.batch += 1
        records = []
        for partition in range(self.partitions):
            mine = [request for request in asked if request.timeline_partition == partition]
            pieces = [
                piece
                for name in sorted(self.authors)
                for piece in self._pieces(name, before.get(name, AuthorState()), partition, mine, random)
            ]
            records += self._records(partition, pieces, mine, random)
        return records

    def _is_news(self, key: tuple[str, str], row: PostRow | FollowRow) -> bool:
        version = (row.time_us, row.position)
        if self._versions.get(key, (row.time_us - 1, b"")) >= version:
            return False
        self._versions[key] = version
        return True

    def _take_follow(self, row: FollowRow) -> None:
        if self._is_news((f"follow {row.author}", row.follower), row):
            followers = self.authors[row.author].followers
            (followers.add if row.alive else followers.discard)(user_number(row.follower))

    def _take_post(self, row: PostRow) -> None:
        if not self._is_news((f"post {row.author}", row.id), row):
            return
        author = self.authors[row.author]
        gone = self._post_of.pop((row.author, row.id), None)
        for mode in (author.inbox_posts, author.outbox_posts):
            mode.pop(gone if gone is not None else -1, None)
        if row.alive:
            mode = author.outbox_posts if len(author.followers) > self.merge_above else author.inbox_posts
            mode[row.number] = row
            self._post_of[row.author, row.id] = row.number

    def _pieces(
        self, name: str, old: AuthorState, partition: int, asked: list[RefillRequest], random: Random
    ) -> list[AuthorChanges]:
        """What changed, as pieces that each say one thing, in the order in which they must be applied."""
        now = self.authors[name]
        mine = [
            number for number in old.followers | now.followers if partition_of(number, self.partitions) == partition
        ]
        ended = [reader for reader in mine if reader not in now.followers]
        began = [reader for reader in mine if reader not in old.followers]
        steady = [reader for reader in mine if reader in old.followers and reader in now.followers]
        wanted = [one for one in asked if name in one.authors]
        again = {one.reader for one in wanted if not one.outbox and one.reader in now.followers}

        pieces = [AuthorChanges(author=name, unfollowed=numbers(some)) for some in cut(ended, random)]
        for some in cut(steady, random):
            pieces += withdrawals(name, old.inbox_posts.keys() - now.inbox_posts.keys(), some, random)
        pieces += withdrawals(name, old.outbox_posts.keys() - now.outbox_posts.keys(), None, random)
        pieces += [AuthorChanges(author=name, followed=numbers(some)) for some in cut(began, random)]
        new = [post for number, post in now.inbox_posts.items() if number not in old.inbox_posts]
        new_outbox = [post for number, post in now.outbox_posts.items() if number not in old.outbox_posts]
        for some in cut(steady, random):
            pieces += spreads(name, new, some, random)
        pieces += spreads(name, new_outbox, None, random)
        newest, older = self._newest(now.inbox_posts)
        for some in [*cut(began, random), *cut(sorted(again), random)]:
            pieces += spreads(name, newest, some, random, older_left_out=older)
        if any(one.outbox for one in wanted):
            newest, older = self._newest(now.outbox_posts)
            pieces += spreads(name, newest, None, random, older_left_out=older)
        return pieces

    def _newest(self, posts: dict[int, PostRow]) -> tuple[list[PostRow], bool]:
        found = sorted(posts.values(), key=place, reverse=True)
        return found[: self.room], len(found) > self.room

    def _records(
        self, partition: int, pieces: list[AuthorChanges], asked: list[RefillRequest], random: Random
    ) -> list[tuple[int, bytes]]:
        """Pieces one after the other; of one author and in the order of fields, they may share a record."""
        records = [self._record(partition, 0)]
        for piece in pieces:
            if random.random() < 0.2:
                records.append(self._record(partition, len(records)))
            if not join_in(records[-1], piece):
                records.append(self._record(partition, len(records)))
                records[-1].authors.append(piece)
        for one in asked:
            if random.random() < 0.2:
                records.append(self._record(partition, len(records)))
            records[-1].refilled.add(reader=one.reader, request=one.request)
        # The first batch of a life is told to everybody: else who gets nothing new would keep what the last life said.
        if self.batch > 1 and len(records) == 1 and not records[0].authors and not records[0].refilled:
            return []
        return [(partition, record.SerializeToString(deterministic=True)) for record in records]

    def _record(self, partition: int, part: int) -> Delivery:
        return Delivery(timeline_partition=partition, shard=self.shard, epoch=self.epoch, batch=self.batch, part=part)


def join_in(record: Delivery, piece: AuthorChanges) -> bool:
    """Whether the piece could be added to what the record says of its author (or to a record that says nothing)."""
    if not record.authors or record.authors[-1].author != piece.author:
        if any(one.author == piece.author for one in record.authors):
            return False
        record.authors.append(piece)
        return True
    there = record.authors[-1]
    if step(piece) < last_step(there):
        return False
    there.unfollowed += piece.unfollowed
    there.withdrawn.extend(piece.withdrawn)
    there.followed += piece.followed
    for spread in piece.spread:
        added = there.spread.add(readers=spread.readers, outbox=spread.outbox, older_left_out=spread.older_left_out)
        for index in spread.posts:
            if piece.posts[index] not in there.posts:
                there.posts.append(piece.posts[index])
            added.posts.append(list(there.posts).index(piece.posts[index]))
    return True


def step(piece: AuthorChanges) -> int:
    return 0 if piece.unfollowed else 1 if piece.withdrawn else 2 if piece.followed else 3


def last_step(changes: AuthorChanges) -> int:
    return 3 if changes.spread else 2 if changes.followed else 1 if changes.withdrawn else 0


def numbers(some: Iterable[int]) -> bytes:
    return packed(np.array(sorted(some), np.uint64))


def cut(readers: list[int], random: Random) -> list[list[int]]:
    """One list or two, none of them empty."""
    ordered = sorted(readers)
    at = random.randrange(len(ordered)) if ordered and random.random() < 0.3 else 0
    return [some for some in (ordered[:at], ordered[at:]) if some]


def withdrawals(name: str, posts: Iterable[int], readers: list[int] | None, random: Random) -> list[AuthorChanges]:
    """`readers` None: from the outbox."""
    outbox = readers is None
    return [
        AuthorChanges(
            author=name, withdrawn=[Withdrawal(posts=numbers(part), readers=numbers(readers or []), outbox=outbox)]
        )
        for part in cut(list(posts), random)
    ]


def spreads(
    name: str, posts: list[PostRow], readers: list[int] | None, random: Random, older_left_out: bool = False
) -> list[AuthorChanges]:
    """Newest posts first where they are cut: that older ones are left out is said with the oldest."""
    ordered = sorted(posts, key=place, reverse=True)
    at = random.randrange(len(ordered)) if ordered and random.random() < 0.3 else 0
    found = []
    for part in (ordered[:at], ordered[at:]):
        if part:
            shown = [Post.FromString(post.payload or b"") for post in part]
            indexes = list(range(len(part)))
            random.shuffle(indexes)
            spread = Spread(
                posts=indexes,
                readers=numbers(readers or []),
                outbox=readers is None,
                older_left_out=older_left_out and part[-1] is ordered[-1],
            )
            found.append(AuthorChanges(author=name, posts=shown, spread=[spread]))
    return found
