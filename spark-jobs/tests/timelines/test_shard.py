"""The algebra against what it means: who sees what is posts × follows, whatever came in which order and batches."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.delivery.numbers import partition_of, post_key, post_number, unpacked
from penstock.jobs.timelines.bundle import packed as bundled
from penstock.jobs.timelines.bundle import unpacked as unbundled
from penstock.jobs.timelines.changes import Batch, Cut, FollowChange, batch_of, bundle_of
from penstock.jobs.timelines.posts import PostChange
from penstock.jobs.timelines.shard import Shape, Shard, Stamp
from penstock.timeline.v1.delivery_pb2 import Delivery, Post, RefillRequest

PARTITIONS = 3
SHAPE = Shape(PARTITIONS, 1000, 2)  # three followers are many
AUTHORS = "AB"
READERS = [number << 61 | number for number in range(0, 8, 2)]


def post(author: str, post_id: str, time_us: int, position: bytes, alive: bool) -> PostChange:
    key = post_key(author, post_id)
    number = post_number(key, time_us, position)
    payload = Post(id=post_id, author=author, time_us=time_us, number=number).SerializeToString() if alive else None
    return PostChange(author, post_id, key, number, time_us, position, payload)


times = st.integers(0, 2)
positions = st.sampled_from([b"a", b"device\0boot\0\0\0\0\0\0\0\0\1", b"device\0boot\0\0\0\0\0\0\0\0\2", b"\0" * 8])
posts = st.builds(post, st.sampled_from(AUTHORS), st.sampled_from("xy"), times, positions, st.booleans())
follows = st.builds(FollowChange, st.sampled_from(AUTHORS), st.sampled_from(READERS), times, positions, st.booleans())
cuts = st.builds(Cut, times, positions)


def version(change: PostChange | FollowChange) -> tuple[object, ...]:
    """No two changes of a row have the same."""
    row: object = change.key if isinstance(change, PostChange) else (change.author, change.follower)
    return row, change.time_us, change.position


changes = st.lists(posts | follows, max_size=40, unique_by=version)


@dataclass
class Tables:
    """Last version wins."""

    posts: dict[int, PostChange] = field(default_factory=dict)
    follows: dict[tuple[str, int], FollowChange] = field(default_factory=dict)

    def take(self, change: PostChange | FollowChange) -> None:
        if isinstance(change, PostChange):
            known = self.posts.get(change.key, change)
            self.posts[change.key] = max(known, change, key=lambda one: (one.time_us, one.position))
        else:
            edge = change.author, change.follower
            before = self.follows.get(edge, change)
            self.follows[edge] = max(before, change, key=lambda one: (one.time_us, one.position))

    def seen(self) -> set[tuple[int, int]]:
        """(reader, number of a post) for all that live and are followed."""
        return {
            (follow.follower, post.number)
            for follow in self.follows.values()
            for post in self.posts.values()
            if follow.follows and post.payload is not None and post.author == follow.author
        }


class Readers:
    """What readers see who apply every delivery to inboxes without limits."""

    def __init__(self) -> None:
        self.inboxes: dict[int, dict[int, str]] = defaultdict(dict)  # by reader: author by number of post
        self.outboxes: dict[tuple[int, str], set[int]] = defaultdict(set)  # by partition and author
        self.followees: dict[int, set[str]] = defaultdict(set)
        self.refilled: list[tuple[int, int]] = []

    def apply(self, partition: int, record: bytes) -> None:
        delivery = Delivery.FromString(record)
        assert delivery.timeline_partition == partition
        for author in delivery.authors:
            name = author.author
            for reader in self._mine(partition, author.unfollowed):
                self.followees[reader].remove(name)
                self.inboxes[reader] = {post: by for post, by in self.inboxes[reader].items() if by != name}
            for withdrawal in author.withdrawn:
                for gone in unpacked(withdrawal.posts).tolist():
                    if withdrawal.outbox:
                        self.outboxes[partition, name].remove(gone)
                    for reader in self._mine(partition, withdrawal.readers):
                        del self.inboxes[reader][gone]
            for reader in self._mine(partition, author.followed):
                assert name not in self.followees[reader]
                self.followees[reader].add(name)
            for spread in author.spread:
                for shown in (author.posts[index] for index in spread.posts):
                    assert shown.author == name
                    if spread.outbox:
                        self.outboxes[partition, name].add(shown.number)
                    for reader in self._mine(partition, spread.readers):
                        assert name in self.followees[reader]
                        self.inboxes[reader][shown.number] = name
        self.refilled += [(one.reader, one.request) for one in delivery.refilled]

    def seen(self) -> set[tuple[int, int]]:
        pushed = {(reader, post) for reader, posts in self.inboxes.items() for post in posts}
        merged = {
            (reader, post)
            for reader, authors in self.followees.items()
            for author in authors
            for post in self.outboxes[partition_of(reader, PARTITIONS), author]
        }
        return pushed | merged

    def _mine(self, partition: int, readers: bytes) -> list[int]:
        numbers: list[int] = unpacked(readers).tolist()
        assert numbers == sorted(numbers)
        assert {partition_of(number, PARTITIONS) for number in numbers} <= {partition}
        return numbers


def batch(some: list[PostChange | FollowChange]) -> Batch:
    """As the reader makes it: each row once."""
    tables = Tables()
    for change in some:
        tables.take(change)
    return Batch(
        sorted(tables.posts.values(), key=lambda one: (one.author, one.key)),
        sorted(tables.follows.values(), key=lambda one: (one.author, one.follower)),
    )


def run(shard: Shard, batches: list[Batch], readers: Readers) -> None:
    for number, one in enumerate(batches):
        for partition, record in shard.apply(one, Stamp(0, 1, number)).records:
            readers.apply(partition, record)


@settings(max_examples=300, deadline=None)
@given(changes, st.lists(st.integers(0, 40), max_size=4), st.randoms(use_true_random=False))
def test_that_everybody_sees_posts_times_follows(
    some: list[PostChange | FollowChange], breaks: list[int], random: Random
) -> None:
    tables = Tables()
    for change in some:
        tables.take(change)
    arrived = some + some[: len(some) // 3]  # duplicates
    random.shuffle(arrived)
    ends = sorted({min(one, len(arrived)) for one in breaks} | {len(arrived)})
    batches = [batch(arrived[begin:end]) for begin, end in zip([0, *ends], ends, strict=False)]
    readers = Readers()
    run(Shard(SHAPE), batches, readers)
    assert readers.seen() == tables.seen()


@settings(max_examples=100, deadline=None)
@given(changes, st.integers(0, 20), st.integers(20, 40))
def test_that_a_shard_restored_tells_the_same_to_the_byte(
    some: list[PostChange | FollowChange], one: int, two: int
) -> None:
    first, second, third = some[:one], some[one:two], some[two:]
    lived, replayed = Shard(SHAPE), Shard(SHAPE)
    lived.apply(batch(first), Stamp(0, 1, 1))
    replayed.replay(batch_of(unbundled(bundled(bundle_of(batch(first))))))
    restored = Shard.of(unbundled(bundled(lived.bundle())), SHAPE)
    for number, some in enumerate((second, third)):
        expected = lived.apply(batch(some), Stamp(0, 1, number))
        assert replayed.apply(batch(some), Stamp(0, 1, number)) == expected
        assert restored.apply(batch(some), Stamp(0, 1, number)) == expected
    assert (restored.posts, restored.edges) == (lived.posts, lived.edges)


@settings(max_examples=100, deadline=None)
@given(changes, cuts, cuts, st.integers(0, 40))
def test_that_a_truncate_ends_what_is_older_whenever_it_comes(
    some: list[PostChange | FollowChange], posts_cut: Cut, follows_cut: Cut, half: int
) -> None:
    tables = Tables()
    for change in some:
        cut = posts_cut if isinstance(change, PostChange) else follows_cut
        if Cut(change.time_us, change.position) >= cut:
            tables.take(change)
    readers, truncate = Readers(), batch([])
    truncate.posts_cut, truncate.follows_cut = posts_cut, follows_cut
    run(Shard(SHAPE), [batch(some[:half]), truncate, batch(some[half:])], readers)
    assert readers.seen() == tables.seen()


def test_that_a_refill_is_answered_by_what_a_new_follower_would_get() -> None:
    shard, readers = Shard(Shape(PARTITIONS, 2, 100)), Readers()
    reader = READERS[2]
    mine = partition_of(reader, PARTITIONS)
    stranger = RefillRequest(reader=READERS[0], request=8, timeline_partition=0, authors=["A"])
    request = RefillRequest(reader=reader, request=7, timeline_partition=mine, authors=["A", "nobody"])
    run(
        shard,
        [
            batch([FollowChange("A", reader, 1, b"p", True)]),
            batch([post("A", name, time, b"p", True) for time, name in enumerate("xyz")]),
        ],
        readers,
    )
    before = readers.seen()
    outcome = shard.apply(Batch(refills=[stranger, request]), Stamp(0, 1, 9))
    answers = {partition: Delivery.FromString(record) for partition, record in outcome.records}
    assert [(one.reader, one.request) for one in answers[mine].refilled] == [(reader, 7)]
    (author,) = answers[mine].authors
    assert [one.id for one in author.posts] == ["z", "y"]
    assert [one.older_left_out for one in author.spread] == [True]
    assert not answers[0].authors
    assert [(one.reader, one.request) for one in answers[0].refilled] == [(READERS[0], 8)]
    for partition, record in outcome.records:
        readers.apply(partition, record)
    assert readers.seen() == before


def test_that_an_outbox_is_refilled_where_it_was_asked() -> None:
    shard = Shard(SHAPE)
    shard.apply(batch([FollowChange("A", reader, 1, b"p", True) for reader in READERS]), Stamp(0, 1, 1))
    shard.apply(batch([post("A", "x", 5, b"p", True)]), Stamp(0, 1, 2))
    request = RefillRequest(reader=99, request=7, timeline_partition=1, authors=["A"], outbox=True)
    ((partition, record),) = shard.apply(Batch(refills=[request]), Stamp(0, 1, 3)).records
    (author,) = Delivery.FromString(record).authors
    assert (partition, [one.id for one in author.posts], [one.outbox for one in author.spread]) == (1, ["x"], [True])


def test_that_a_row_of_a_truncates_own_version_came_after_it() -> None:
    readers, cut = Readers(), Cut(2, b"p")
    before, after = (
        batch([post("A", "x", time_us, b"p", True), FollowChange("A", READERS[1], time_us, b"p", True)])
        for time_us in (1, 2)
    )
    run(Shard(SHAPE), [before, Batch(posts_cut=cut, follows_cut=cut), after], readers)
    assert len(readers.seen()) == 1
