"""What a partition does, case by case; that it is all right in any order is test_law.py's."""

from __future__ import annotations

import pytest
from delivery_maker import Maker, followed, numbers, post, spread, unfollowed, withdrawn
from penstock.delivery.numbers import outbox_number, user_number
from penstock.timeline.v1.delivery_pb2 import AuthorChanges, Delivery
from penstock.timelines.store import OutOfOrderError, Partition, Shape

SHAPE = Shape(capacity=4, slack=2, partitions=1, shards=2)


@pytest.fixture
def maker() -> Maker:
    return Maker(SHAPE)


def test_a_post_reaches_its_readers_and_nobody_else(maker: Maker) -> None:
    maker.tell(followed("a", ["ann", "bob"]), followed("b", ["cyd"]))
    applied = maker.tell(spread([post("a", "1", 10), post("a", "2", 20)], ["ann", "bob"]))
    assert (applied.entries_added, applied.posts, applied.newest_time_us) == (4, 2, 20)
    assert maker.sees("ann") == maker.sees("bob") == ["2", "1"]
    assert maker.sees("cyd") == maker.sees("nobody knows this one") == []
    assert (maker.partition.users, maker.partition.entries, maker.partition.posts) == (3, 4, 2)


def test_the_oldest_are_dropped_and_their_posts_forgotten(maker: Maker) -> None:
    for time_us in range(7):
        maker.tell(spread([post("a", str(time_us), time_us)], ["ann"]))
    assert maker.sees("ann") == ["6", "5", "4", "3"]
    assert (maker.partition.entries, maker.partition.posts) == (4, 4)
    assert maker.partition.floor(user_number("ann")) == maker.places("ann")[-1]
    late = maker.tell(spread([post("a", "late", 2)], ["ann"]))
    assert late.entries_added == 0
    assert maker.partition.posts == 4


def test_a_post_that_was_withdrawn_may_live_on_as_a_floor(maker: Maker) -> None:
    posts = [post("a", str(time_us), time_us) for time_us in range(8)]
    maker.tell(followed("a", ["ann"]))
    for one in posts:
        maker.tell(spread([one], ["ann"]))
    floor = maker.partition.floor(user_number("ann"))
    assert floor is not None
    assert floor.post_id == "3"
    maker.tell(withdrawn([posts[3]], ["ann"]))
    assert maker.partition.floor(user_number("ann")) == floor
    assert (maker.partition.entries, maker.partition.posts, maker.partition.refilling) == (4, 5, 0)
    maker.tell(unfollowed("a", ["ann"]))
    assert maker.partition.posts == 0


def test_an_edited_post_moves(maker: Maker) -> None:
    old, other = post("a", "1", 10, "old"), post("a", "2", 20)
    maker.tell(spread([old, other], ["ann"]))
    changes = withdrawn([old], ["ann"])
    changes.MergeFrom(spread([post("a", "1", 30, "new")], ["ann"]))
    maker.tell(changes)
    assert [(place.post_id, place.time_us) for place in maker.places("ann")] == [("1", 30), ("2", 20)]


def test_a_version_of_the_same_time_takes_the_place_of_the_one_before(maker: Maker) -> None:
    maker.tell(spread([post("a", "1", 10, "old")], ["ann"]))
    maker.tell(spread([post("a", "1", 10, "new")], ["ann"]))
    (slot,) = maker.partition.view(user_number("ann"))
    assert b"new" in maker.partition.payload(slot)
    assert maker.partition.posts == 1


def test_who_unfollows_sees_nothing_of_the_author(maker: Maker) -> None:
    maker.tell(followed("a", ["ann"]), followed("b", ["ann"]))
    maker.tell(spread([post("a", "1", 1), post("a", "3", 3)], ["ann"]), spread([post("b", "2", 2)], ["ann"]))
    assert maker.tell(unfollowed("a", ["ann", "somebody unknown"])).entries_removed == 2
    assert maker.sees("ann") == ["2"]


def test_outboxes_are_merged_for_those_who_follow(maker: Maker) -> None:
    maker.tell(followed("star", ["ann"]), followed("a", ["ann", "bob"]))
    maker.tell(
        spread([post("a", "2", 2)], ["ann", "bob"]), spread([post("star", "1", 1), post("star", "3", 3)], outbox=True)
    )
    assert maker.sees("ann") == ["3", "2", "1"]
    assert maker.sees("bob") == ["2"]
    assert maker.partition.users == 2
    assert maker.partition.view(outbox_number("star")).size == 0
    maker.tell(withdrawn([post("star", "3", 3)], outbox=True), withdrawn([post("comet", "9", 9)], outbox=True))
    assert maker.sees("ann") == ["2", "1"]


def test_a_gap_is_refilled(maker: Maker) -> None:
    posts = [post("a", str(time_us), time_us) for time_us in range(7)]
    maker.tell(followed("a", ["ann"]))
    for one in posts:
        maker.tell(spread([one], ["ann"]))
    applied = maker.tell(withdrawn(posts[4:6], ["ann"]))
    assert (applied.refills_begun, maker.partition.refilling) == (1, 1)
    assert maker.sees("ann") == ["6", "3"]
    assert maker.partition.is_refilling(user_number("ann"))
    (request,) = maker.asked()
    assert (request.reader, list(request.authors), request.outbox) == (user_number("ann"), ["a"], False)
    maker.tell(spread(posts[:4] + posts[6:], ["ann"]), refilled=[(request.reader, request.request - 1)])
    assert maker.sees("ann") == ["6", "3", "2", "1"]
    assert maker.partition.is_refilling(user_number("ann"))
    assert maker.tell(refilled=[(request.reader, request.request)]).refills_ended == 1
    assert not maker.partition.is_refilling(user_number("ann"))
    assert maker.partition.refills() == []


def test_a_refill_ends_when_nobody_is_followed_any_more(maker: Maker) -> None:
    posts = [post("a", str(time_us), time_us) for time_us in range(7)]
    maker.tell(followed("a", ["ann"]))
    for one in posts:
        maker.tell(spread([one], ["ann"]))
    maker.tell(withdrawn(posts[4:6], ["ann"]))
    assert maker.tell(unfollowed("a", ["ann"])).refills_ended == 1
    assert (maker.partition.refilling, maker.sees("ann"), maker.partition.posts) == (0, [], 0)
    assert maker.partition.floor(user_number("ann")) is None


def test_what_older_ones_were_left_out_of_is_a_floor(maker: Maker) -> None:
    maker.tell(followed("b", ["ann"]), spread([post("c", "old", 1)], ["ann"]))
    posts = [post("a", str(time_us), time_us) for time_us in range(10, 16)]
    maker.tell(followed("a", ["ann"]))
    maker.tell(spread(posts, ["ann"], older_left_out=True))
    assert maker.sees("ann") == ["15", "14", "13", "12"]
    assert maker.partition.floor(user_number("ann")) is not None


def test_a_shard_that_begins_anew_is_forgotten_first(maker: Maker) -> None:
    maker.tell(followed("a", ["ann"]), spread([post("a", "1", 1)], ["ann"]))
    maker.tell(followed("star", ["ann"]), spread([post("star", "2", 2)], outbox=True))
    other = Maker(SHAPE, shard=1)
    other.partition = maker.partition
    other.tell(followed("b", ["ann"]), spread([post("b", "3", 3)], ["ann"]))
    assert maker.sees("ann") == ["3", "2", "1"]
    maker.epoch, maker.batch = 2, 0
    applied = maker.tell(followed("a", ["bob"]))
    assert (applied.forgot_shard, applied.entries_removed) == (True, 2)
    assert maker.sees("ann") == ["3"]
    maker.epoch, maker.batch = 1, 10
    assert maker.tell(followed("a", ["ann"])).dropped


def test_a_record_that_was_applied_is_dropped_and_a_lost_one_is_noticed(maker: Maker) -> None:
    record = maker.record(spread([post("a", "1", 1)], ["ann"]))
    maker.partition.apply(record, 0)
    assert maker.partition.apply(record, 1).dropped
    assert maker.partition.next_offset == 2
    with pytest.raises(OutOfOrderError, match="part 1 is missing"):
        maker.partition.apply(maker.record(part=2), 2)
    with pytest.raises(OutOfOrderError, match="part 0 is missing"):
        maker.partition.apply(Delivery(epoch=1, batch=9, part=1).SerializeToString(), 2)
    with pytest.raises(OutOfOrderError, match="offset 1 came again"):
        maker.partition.apply(record, 1)
    assert maker.partition.next_offset == 2


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        (b"\xff", "is no Delivery: it is no protobuf message"),
        (Delivery(timeline_partition=1, epoch=1, batch=9).SerializeToString(), "is for timeline partition 1"),
        (Delivery(shard=2, epoch=1, batch=9).SerializeToString(), "is of shard 2; there are 2"),
        (
            Delivery(epoch=1, batch=9, authors=[AuthorChanges(author="a", followed=b"1234567")]).SerializeToString(),
            "eight bytes for each",
        ),
    ],
)
def test_what_is_no_record_for_us_is_refused_and_changes_nothing(maker: Maker, record: bytes, fault: str) -> None:
    maker.tell(spread([post("a", "1", 1)], ["ann"]))
    before = maker.partition.digest()
    with pytest.raises(ValueError, match=fault):
        maker.partition.apply(record, 1)
    assert (maker.partition.digest(), maker.partition.next_offset) == (before, 1)


def test_readers_of_other_partitions_are_refused() -> None:
    partition = Partition(0, Shape(4, 2, partitions=2, shards=1))
    others = [f"u{number}" for number in range(64) if user_number(f"u{number}") >> 63]
    record = Delivery(epoch=1, batch=1, authors=[AuthorChanges(author="a", followed=numbers(others[:1]))])
    with pytest.raises(ValueError, match="names readers of other partitions: the join does not count 2"):
        partition.apply(record.SerializeToString(), 0)


def test_watched_users_are_told_of(maker: Maker) -> None:
    ann, bob = user_number("ann"), user_number("bob")
    maker.tell(followed("a", ["ann", "bob"]), followed("star", ["bob"]))
    for user in (ann, ann, bob, user_number("unknown")):
        maker.partition.watch(user)
    assert maker.partition.changed() == [ann, bob]
    assert maker.partition.changed() == []
    maker.tell(spread([post("a", "1", 1)], ["ann", "cyd"]))
    assert maker.partition.changed() == [ann]
    maker.tell(spread([post("star", "2", 2)], outbox=True))
    assert maker.partition.changed() == [bob]
    maker.partition.unwatch(ann)
    maker.tell(withdrawn([post("a", "1", 1)], ["ann"]))
    assert maker.partition.changed() == [ann]
    maker.partition.unwatch(ann)
    maker.tell(spread([post("a", "3", 3)], ["ann"]))
    assert maker.partition.changed() == []


def test_a_reader_who_unfollows_an_outbox_sees_a_change(maker: Maker) -> None:
    maker.tell(followed("star", ["ann"]), followed("a", ["ann"]), spread([post("star2", "2", 2)], outbox=True))
    maker.partition.watch(user_number("ann"))
    maker.partition.changed()
    maker.tell(unfollowed("star", ["ann"]))
    assert maker.partition.changed() == [user_number("ann")]


def test_memory_is_told_and_given_back(maker: Maker) -> None:
    users = [f"u{number}" for number in range(300)]
    empty = maker.partition.memory_bytes
    posts = [post("a", str(time_us), time_us, "x" * 100) for time_us in range(6)]
    for one in posts:
        maker.tell(spread([one], users))
    full = maker.partition.memory_bytes
    assert full > empty + 300 * 6 * 4
    maker.tell(withdrawn(posts, users))
    assert (maker.partition.entries, maker.partition.posts) == (0, 0)
    for one in posts:
        maker.tell(spread([one], users))
    assert maker.partition.memory_bytes == full


def test_no_partition_beyond_the_last() -> None:
    with pytest.raises(ValueError, match="partition 1: there are 1, from 0 on"):
        Partition(1, SHAPE.__class__(4, 2, 1, 1))
