"""Tables, joins and partitions of the store, wired together by lists: what a test needs to drive all of it.

In:  changes of the tables; when a shard runs, what a partition is given, which refills are asked, what is said twice.
Out: what users see, beside what they should see.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from penstock.delivery.numbers import partition_of, post_key, post_number, user_number
from penstock.delivery.rows import FollowRow, PostRow
from penstock.timeline.v1.delivery_pb2 import Post, RefillRequest
from penstock.timelines.store import Partition, Place, Shape
from penstock.timelines.store.tables import find_user
from penstock.timelines.store.values import Slots, signed
from penstock.topics.partitioning import murmur2_partition
from reference_join import ReferenceJoin
from timeline_definition import live, place, timeline

Change = PostRow | FollowRow


def post_row(author: str, post_id: str, time_us: int, position: bytes, alive: bool) -> PostRow:
    key = post_key(author, post_id)
    number = post_number(key, time_us, position)
    post = Post(id=post_id, author=author, time_us=time_us, number=number, attributes={"text": position.hex()})
    payload = post.SerializeToString(deterministic=True) if alive else None
    return PostRow(author, post_id, alive, time_us, position, payload, key, number)


def follow_row(follower: str, author: str, time_us: int, position: bytes, alive: bool) -> FollowRow:
    return FollowRow(follower, author, alive, time_us, position, user_number(follower))


class World:
    """As many shards and partitions as its shape says."""

    def __init__(self, shape: Shape, merge_above: int) -> None:
        self.shape = shape
        self.joins = [ReferenceJoin(shard, shape.partitions, shape.room, merge_above) for shard in range(shape.shards)]
        self.partitions = [Partition(number, shape, salt=number) for number in range(shape.partitions)]
        self.logs: list[list[bytes]] = [[] for _ in range(shape.partitions)]
        self.changes: list[list[Change]] = [[] for _ in range(shape.shards)]  # the logs of the tables
        self.taken = [0] * shape.shards  # how much of them the join has read
        self.requests: list[list[RefillRequest]] = [[] for _ in range(shape.shards)]  # not yet read
        self.asked: list[tuple[int, RefillRequest]] = []  # all there ever were
        self._truth_size = -1
        self.since: dict[tuple[int, int], Place | None] = {}  # the oldest entry when a refill began

    def shard_of(self, author: str) -> int:
        return murmur2_partition(author.encode(), self.shape.shards)

    def partition_of(self, user: str) -> Partition:
        return self.partitions[partition_of(user_number(user), self.shape.partitions)]

    def change(self, change: Change) -> None:
        self.changes[self.shard_of(change.author)].append(change)

    def run(self, shard: int, random: Random, at_most: int = 1 << 30) -> None:
        """One batch of the join."""
        log, begin = self.changes[shard], self.taken[shard]
        some = log[begin : begin + at_most]
        self.taken[shard] += len(some)
        posts = [row for row in some if isinstance(row, PostRow)]
        follows = [row for row in some if isinstance(row, FollowRow)]
        random.shuffle(posts)
        random.shuffle(follows)
        requests, self.requests[shard] = self.requests[shard], []
        for partition, record in self.joins[shard].run(posts, follows, requests, random):
            self.logs[partition].append(record)

    def begin_anew(self, shard: int) -> None:
        """The join lost its memory, and reads the tables from the start."""
        self.joins[shard].begin_anew()
        self.taken[shard] = 0

    def repeat(self, partition: int, begin: int, end: int) -> None:
        """Records come once more, as when a batch is run again."""
        self.logs[partition].extend(self.logs[partition][begin:end])

    def deliver(self, partition: int, at_most: int = 1 << 30) -> None:
        store = self.partitions[partition]
        for offset in range(store.next_offset, min(len(self.logs[partition]), store.next_offset + at_most)):
            store.apply(self.logs[partition][offset], offset)
            for refill in store.refills():
                if (refill.reader, refill.request) not in self.since:
                    slots = inbox(store, refill.reader)
                    oldest = store.place(int(slots[0])) if slots.size else None
                    self.since[refill.reader, refill.request] = oldest

    def ask(self, partition: int, times: Callable[[], int] = lambda: 1) -> None:
        """Sends each record of each request so many times; where that is zero it is lost, to be sent again later."""
        for refill in self.partitions[partition].refills():
            for shard, message in refill.records:
                for _ in range(times()):
                    request = RefillRequest.FromString(message)
                    self.requests[shard].append(request)
                    self.asked.append((shard, request))

    def restart(self, partition: int, salt: int) -> None:
        store = self.partitions[partition]
        again = Partition.restore(store.image(), self.shape, salt)
        assert again.digest() == store.digest()
        assert again.next_offset == store.next_offset
        assert [(one.reader, one.request, one.records) for one in again.refills()] == [
            (one.reader, one.request, one.records) for one in store.refills()
        ]
        assert (again.users, again.entries, again.posts) == (store.users, store.entries, store.posts)
        self.partitions[partition] = again

    @property
    def quiet(self) -> bool:
        """Everything was read, joined and applied; refills may be under way."""
        return self.joined and all(
            store.next_offset == len(log) for store, log in zip(self.partitions, self.logs, strict=True)
        )

    @property
    def joined(self) -> bool:
        return self.taken == [len(log) for log in self.changes]

    def settle(self, random: Random) -> None:
        """Until nothing is left to do."""
        for _ in range(100):
            for shard in range(self.shape.shards):
                self.run(shard, random)
            for partition in range(self.shape.partitions):
                self.deliver(partition)
                self.ask(partition)
            if not any(store.refilling for store in self.partitions):
                return
        raise AssertionError("refills never end")

    def timeline(self, user: str) -> list[PostRow]:
        """What the user should see."""
        return self.live_posts(user)[: self.shape.capacity]

    def live_posts(self, user: str) -> list[PostRow]:
        """And what the user would see if timelines were endless."""
        size = sum(map(len, self.changes))
        if self._truth_size != size:
            every = [row for log in self.changes for row in log]
            self._posts = live(row for row in every if isinstance(row, PostRow))
            self._follows = live(row for row in every if isinstance(row, FollowRow))
            self._truth_size = size
        return timeline(user, self._posts, self._follows, capacity=len(self._posts))

    def view(self, user: str) -> list[tuple[Place, int, bytes]]:
        """What the user sees."""
        store = self.partition_of(user)
        slots = store.view(user_number(user)).tolist()
        return [(store.place(slot), store.post_number(slot), store.payload(slot)) for slot in slots]

    def must_be_seen(self, user: str) -> set[int]:
        """While a refill is under way: posts of the inbox that are not older than where the gap begins."""
        number, store = user_number(user), self.partition_of(user)
        oldest = [self.since[one.reader, one.request] for one in store.refills() if one.reader == number]
        if None in oldest:
            return set()
        pushed = {post for join in self.joins for author in join.authors.values() for post in author.inbox_posts}
        floors = [key(one) for one in [*oldest, store.floor(number)] if one is not None]
        return {
            post.number
            for post in self.timeline(user)
            if post.number in pushed and all(place(post) >= floor for floor in floors)
        }


def key(place: Place) -> tuple[int, bytes, bytes]:
    return place.time_us, place.post_id.encode(), place.author.encode()


def expected(posts: list[PostRow]) -> list[tuple[Place, int, bytes]]:
    return [(Place(post.time_us, post.id, post.author), post.number, post.payload or b"") for post in posts]


def inbox(store: Partition, reader: int) -> Slots:
    """The slots of an inbox or outbox, oldest first."""
    columns = store._columns
    user = columns.users[find_user(columns.s, signed(reader))]
    return columns.inboxes.words[user["block"] : user["block"] + user["count"]]
