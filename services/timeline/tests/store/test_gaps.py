"""What a gap asks for, and who may fill it."""

from __future__ import annotations

import pytest
from delivery_maker import Maker, followed, post, spread, unfollowed, withdrawn
from penstock.delivery.numbers import outbox_number, user_number
from penstock.timeline.v1.delivery_pb2 import RefillRequest
from penstock.timelines.store import Shape, gaps

SHAPE = Shape(capacity=2, slack=1, partitions=1, shards=3)
POSTS = [post("a", str(time_us), time_us) for time_us in range(4)]


def makers() -> list[Maker]:
    """Of three shards, for one partition, where ann follows somebody of each."""
    found = [Maker(SHAPE, shard) for shard in range(3)]
    for maker, author in zip(found, ["a", "b", "c"], strict=True):
        maker.partition = found[0].partition
        maker.tell(followed(author, ["ann"]), followed(f"{author}2", ["ann"]))
    return found


def with_gap() -> list[Maker]:
    found = makers()
    for one in POSTS:
        found[0].tell(spread([one], ["ann"]))
    found[0].tell(withdrawn([POSTS[3]], ["ann"]))
    assert found[0].partition.is_refilling(user_number("ann"))
    return found


def test_that_each_shard_is_asked_for_its_authors() -> None:
    maker, *_ = with_gap()
    (refill,) = maker.partition.refills()
    asked = {shard: RefillRequest.FromString(message) for shard, message in refill.records}
    assert {shard: list(request.authors) for shard, request in asked.items()} == {
        0: ["a", "a2"],
        1: ["b", "b2"],
        2: ["c", "c2"],
    }
    assert {request.reader for request in asked.values()} == {user_number("ann"), refill.reader}
    assert refill.request == maker.partition.next_offset
    assert len({request.request for request in asked.values()}) == 3
    assert refill.records == maker.partition.refills()[0].records


def test_that_an_answer_counts_once_and_only_for_its_own_record() -> None:
    maker, *_ = with_gap()
    first, second, third = maker.asked()
    for request in (first, first, first, second):
        maker.tell(refilled=[(request.reader, request.request)])
    assert maker.asked() == [third]
    maker.tell(refilled=[(user_number("bob"), third.request), (third.reader, third.request + 1)])
    maker.tell(refilled=[(third.reader, third.request - (1 << 16))])
    assert maker.partition.refilling == 1
    maker.tell(refilled=[(third.reader, third.request)])
    assert maker.partition.refilling == 0
    assert maker.tell(refilled=[(third.reader, third.request)]).refills_ended == 0


def test_that_a_second_gap_is_another_request() -> None:
    maker, *_ = with_gap()
    before = maker.asked()
    for request in before:
        maker.tell(spread(POSTS[:3], ["ann"]), refilled=[(request.reader, request.request)])
    assert maker.sees("ann") == ["2", "1"]
    assert maker.partition.refilling == 0
    maker.tell(spread([post("a", "x", 9), post("a", "y", 9)], ["ann"]))
    maker.tell(withdrawn([post("a", "x", 9), post("a", "y", 9), POSTS[2]], ["ann"]))
    assert maker.partition.refilling == 1
    assert not {one.request for one in maker.asked()} & {one.request for one in before}


def test_that_records_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaps, "RECORD_BYTES_MAX", 200)
    maker = Maker(SHAPE, shard=1)
    authors = [f"author with a long name {number}" for number in range(20)]
    maker.tell(*(followed(author, ["ann"]) for author in authors))
    some = [post(authors[0], str(time_us), time_us) for time_us in range(4)]
    for one in some:
        maker.tell(spread([one], ["ann"]))
    maker.tell(withdrawn(some[2:], ["ann"]))
    (refill,) = maker.partition.refills()
    assert {shard for shard, _ in refill.records} == {1}
    assert max(len(message) for _, message in refill.records) <= 200
    assert [name for request in maker.asked() for name in request.authors] == authors


def test_that_an_outbox_asks_its_author() -> None:
    maker = Maker(SHAPE)
    some = [post("star", str(time_us), time_us) for time_us in range(4)]
    maker.tell(followed("star", ["ann"]))
    for one in some:
        maker.tell(spread([one], outbox=True))
    maker.tell(withdrawn(some[2:3], outbox=True))
    (request,) = maker.asked()
    assert (request.reader, list(request.authors), request.outbox) == (outbox_number("star"), ["star"], True)
    assert maker.partition.is_refilling(user_number("ann"))
    assert not maker.partition.is_refilling(user_number("bob"))
    maker.tell(spread([some[0], some[1], some[3]], outbox=True), refilled=[(request.reader, request.request)])
    assert maker.sees("ann") == ["3", "1"]
    assert maker.partition.refilling == 0


def test_that_the_first_ones_can_be_had_alone() -> None:
    maker = Maker(SHAPE)
    users = ["ann", "bob", "cyd"]
    maker.tell(followed("a", users))
    for one in POSTS:
        maker.tell(spread([one], users))
    for user in users:
        maker.tell(withdrawn([POSTS[3]], [user]))
    assert [refill.reader for refill in maker.partition.refills(2)] == [user_number("ann"), user_number("bob")]
    assert len(maker.partition.refills()) == 3
    maker.tell(unfollowed("a", ["ann"]))
    assert [refill.reader for refill in maker.partition.refills()] == [user_number("bob"), user_number("cyd")]
