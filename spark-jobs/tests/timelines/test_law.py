"""The join and the inboxes together, without Spark and Kafka: whatever happens, a timeline is what its definition says.

Posts, deletes, follows and unfollows arrive late, twice and in any order; batches end anywhere, are run again, and come
to the inboxes late; shards and partitions are restarted from what they keep; a shard begins anew under a new epoch.
"""

from __future__ import annotations

from collections import defaultdict

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from penstock.delivery.numbers import partition_of, user_number
from penstock.delivery.rows import FollowRow, PostRow, Rows
from penstock.events.v1.event_pb2 import RowVersion
from penstock.jobs.timelines.bundle import packed, unpacked
from penstock.jobs.timelines.changes import FOLLOWS, POSTS, REFILLS, Reader
from penstock.jobs.timelines.shard import Shape, Shard, Stamp
from penstock.pipeline import load, row_key
from penstock.tables.v1.row_change_pb2 import Op, RowChange
from penstock.timelines.store import Partition
from penstock.timelines.store import Shape as StoreShape
from penstock.topics import murmur2_partition
from timeline_definition import canonical_hash, timeline

ROWS = Rows(load())
# Few of each, so that things meet: rows again and again, versions of one microsecond, the end of an inbox.
USERS, AUTHORS, IDS = ["u1", "u2", "u3"], ["ann", "bob"], ["a", "b", "bb", "c", "d"]
CAPACITY, SLACK, MANY = 2, 1, 2  # posts, posts, followers
SHARDS, PARTITIONS = 2, 2
TIMES = st.integers(1, 3)
posts = st.tuples(st.just("post"), st.sampled_from(AUTHORS), st.sampled_from(IDS))
follows = st.tuples(st.just("follow"), st.sampled_from(AUTHORS), st.sampled_from(USERS))
changes = st.tuples(posts | follows, TIMES, st.sampled_from([True, True, False]), st.sampled_from([1, 1, 2]))
SHAPE = Shape(PARTITIONS, CAPACITY + SLACK, MANY)
STORE = StoreShape(capacity=CAPACITY, slack=SLACK, partitions=PARTITIONS, shards=SHARDS)


class Law(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.posts: list[PostRow] = []
        self.follows: list[FollowRow] = []
        self.written: list[list[tuple[int, bytes]]] = [[] for _ in range(SHARDS)]  # the tables' logs
        self.read = [0] * SHARDS
        self.refills: list[list[tuple[int, bytes]]] = [[] for _ in range(SHARDS)]
        self.shards = [Shard(SHAPE) for _ in range(SHARDS)]
        self.stamps = [Stamp(number, 1, 0) for number in range(SHARDS)]
        self.last_records: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
        self.logs: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
        self.partitions = [Partition(number, STORE) for number in range(PARTITIONS)]
        self.images = [partition.image() for partition in self.partitions]
        self.sequence = 0

    def write(self, change: RowChange, author: str, kind: int, times: int) -> None:
        self.written[murmur2_partition(author.encode(), SHARDS)] += [(kind, change.SerializeToString())] * times

    def row_change(self, table: str, key: tuple[str, str], alive: bool, time_us: int) -> RowChange:
        self.sequence += 1
        # Not in the order of writing, and of several devices.
        position = b"device%d\0boot\0" % (self.sequence * 7 % 3) + (self.sequence * 5 % 16).to_bytes(8, "big")
        position += self.sequence.to_bytes(2, "big")
        version = RowVersion(valid_from_us=time_us, position=position)
        return RowChange(table=table, key=row_key(key), op=Op.OP_UPSERT if alive else Op.OP_DELETE, version=version)

    @rule(some=st.lists(changes, min_size=1, max_size=20))
    def change(self, some: list[tuple[tuple[str, str, str], int, bool, int]]) -> None:
        for (kind, author, other), time_us, alive, times in some:
            if kind == "post":
                self.post(author, other, time_us, alive, times)
            else:
                self.follow(other, author, time_us, alive, times)

    @rule(author=st.sampled_from(AUTHORS), time_us=TIMES, alive=st.booleans())
    def everybody_follows(self, author: str, time_us: int, alive: bool) -> None:
        for user in USERS:
            self.follow(user, author, time_us, alive, 1)

    @rule(author=st.sampled_from(AUTHORS), time_us=TIMES, alive=st.booleans())
    def all_posts(self, author: str, time_us: int, alive: bool) -> None:
        for post_id in IDS:
            self.post(author, post_id, time_us, alive, 1)

    def post(self, author: str, post_id: str, time_us: int, alive: bool, times: int) -> None:
        change = self.row_change("posts", (author, post_id), alive, time_us)
        self.posts.append(ROWS.post(change))
        self.write(change, author, POSTS, times)

    def follow(self, user: str, author: str, time_us: int, alive: bool, times: int) -> None:
        change = self.row_change("follows", (user, author), alive, time_us)
        self.follows.append(ROWS.follow(change))
        self.write(change, author, FOLLOWS, times)

    @rule(shard=st.integers(0, SHARDS - 1), count=st.integers(1, 30), turned=st.booleans())
    def batch(self, shard: int, count: int, turned: bool) -> None:
        """A micro-batch of some records, in the log's order or backwards, and all refill requests that have come."""
        begin = self.read[shard]
        records = self.written[shard][begin : begin + count]
        self.read[shard] += len(records)
        if turned:
            records.reverse()
        records += self.refills[shard]
        self.refills[shard] = []
        if not records:
            return
        stamp = self.stamps[shard] = self.stamps[shard]._replace(batch=self.stamps[shard].batch + 1)
        outcome = self.shards[shard].apply(Reader(ROWS).batch(records), stamp)
        self.last_records[shard] = outcome.records
        self.append(outcome.records)

    def append(self, records: list[tuple[int, bytes]]) -> None:
        for partition, record in records:
            self.logs[partition].append(record)

    @rule(shard=st.integers(0, SHARDS - 1))
    def batch_is_run_again(self, shard: int) -> None:
        self.append(self.last_records[shard])

    @rule(shard=st.integers(0, SHARDS - 1))
    def shard_restarts(self, shard: int) -> None:
        self.shards[shard] = Shard.of(unpacked(packed(self.shards[shard].bundle())), SHAPE)

    @rule(shard=st.integers(0, SHARDS - 1), count=st.integers(1, 60))
    def shard_begins_anew(self, shard: int, count: int) -> None:
        """The checkpoint was deleted: all is read again, in other batches."""
        self.shards[shard] = Shard(SHAPE)
        self.stamps[shard] = Stamp(shard, self.stamps[shard].epoch + 1, 0)
        self.read[shard] = 0
        self.batch(shard=shard, count=count, turned=False)

    @rule(partition=st.integers(0, PARTITIONS - 1), count=st.integers(1, 10))
    def deliver(self, partition: int, count: int) -> None:
        inboxes = self.partitions[partition]
        for offset in range(inboxes.next_offset, min(inboxes.next_offset + count, len(self.logs[partition]))):
            inboxes.apply(self.logs[partition][offset], offset)

    @rule(partition=st.integers(0, PARTITIONS - 1), times=st.integers(1, 2))
    def ask_for_refills(self, partition: int, times: int) -> None:
        for refill in self.partitions[partition].refills():
            for shard, message in refill.records:
                self.refills[shard] += [(REFILLS, message)] * times

    @rule(partition=st.integers(0, PARTITIONS - 1))
    def save(self, partition: int) -> None:
        self.images[partition] = self.partitions[partition].image()

    @rule(partition=st.integers(0, PARTITIONS - 1))
    def partition_restarts(self, partition: int) -> None:
        self.partitions[partition] = Partition.restore(self.images[partition], STORE)

    @invariant()
    def shows_no_ghosts_in_order(self) -> None:
        """Also in between: nothing that was never written, no post twice, newest first."""
        known = {row.number for row in self.posts}
        for user in USERS:
            inboxes, number = self.partitions[partition_of(user_number(user), PARTITIONS)], user_number(user)
            view = inboxes.view(number)
            places = [(p.time_us, p.post_id.encode(), p.author.encode()) for p in map(inboxes.place, view.tolist())]
            assert places == sorted(set(places), reverse=True)
            assert {inboxes.post_number(slot) for slot in view.tolist()} <= known

    @rule()
    def settle(self) -> None:
        for _ in range(100):
            for shard in range(SHARDS):
                while self.read[shard] < len(self.written[shard]) or self.refills[shard]:
                    self.batch(shard=shard, count=30, turned=False)
            for partition in range(PARTITIONS):
                self.deliver(partition=partition, count=1 << 30)
                self.ask_for_refills(partition=partition, times=1)
            if not any(self.refills):
                break
        assert not any(self.refills), "refills ask for ever"
        expected = {user: timeline(user, self.posts, self.follows, CAPACITY) for user in USERS}
        for user, posts in expected.items():
            inboxes, number = self.partitions[partition_of(user_number(user), PARTITIONS)], user_number(user)
            assert not inboxes.is_refilling(number)
            assert [inboxes.payload(slot) for slot in inboxes.view(number).tolist()] == [post.payload for post in posts]
        hashed = canonical_hash({user_number(user): posts for user, posts in expected.items()})
        assert sum(inboxes.digest() for inboxes in self.partitions) % (1 << 128) == hashed
        assert sum(self.replayed(number).digest() for number in range(PARTITIONS)) % (1 << 128) == hashed

    def teardown(self) -> None:
        self.settle()

    def replayed(self, number: int) -> Partition:
        inboxes = Partition(number, STORE)
        for offset, record in enumerate(self.logs[number]):
            inboxes.apply(record, offset)
        return inboxes


TestLaw = Law.TestCase
TestLaw.settings = settings(
    max_examples=150, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def test_that_what_a_backfill_left_out_comes_when_newer_posts_go() -> None:
    law = Law()
    law.all_posts(author="ann", time_us=1, alive=True)
    law.settle()
    law.follow("u1", "ann", 1, alive=True, times=1)
    law.settle()
    for post_id in IDS[-1:0:-1]:
        law.post("ann", post_id, 3, alive=False, times=1)
        law.settle()
