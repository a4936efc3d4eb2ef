"""However much there is to tell, no record is larger than it may be, and the parts tell all of it in order."""

from __future__ import annotations

from collections import Counter

import numpy as np
from penstock.delivery.numbers import unpacked
from penstock.jobs.timelines.records import NOBODY, RECORD_BYTES, Records
from penstock.timeline.v1.delivery_pb2 import Delivery, Post


def records() -> Records:
    return Records(partition=3, shard=5, epoch=7, batch=11)


def post(number: int, size: int = 10) -> tuple[int, bytes]:
    return number, Post(number=number, id=f"p{number}", attributes={"text": "x" * size}).SerializeToString()


def parsed(some: Records) -> list[Delivery]:
    values = some.finished()
    assert all(len(value) <= RECORD_BYTES + 1024 for value in values)
    parts = [Delivery.FromString(value) for value in values]
    assert [(one.timeline_partition, one.shard, one.epoch, one.batch, one.part) for one in parts] == [
        (3, 5, 7, 11, part) for part in range(len(parts))
    ]
    return parts


def test_that_nothing_to_tell_is_no_record() -> None:
    some = records()
    some.author("ann")
    some.unfollowed(NOBODY)
    some.spread([], NOBODY)
    some.spread([post(1)], NOBODY)
    assert some.finished() == []
    assert some.entries == 0


def test_that_posts_of_an_author_stand_once_in_a_record() -> None:
    some, readers = records(), np.arange(3, dtype=np.uint64)
    some.author("ann")
    some.spread([post(2), post(1)], readers)
    some.spread([post(2)], readers + np.uint64(10), older_left_out=True)
    ((delivery,),) = [parsed(some)]
    (author,) = delivery.authors
    assert [one.number for one in author.posts] == [2, 1]
    assert [(list(one.posts), one.older_left_out) for one in author.spread] == [([0, 1], False), ([0], True)]
    assert some.entries == 9


def test_that_a_million_readers_are_told_in_parts() -> None:
    some, readers = records(), np.arange(1_000_000, dtype=np.uint64)
    some.author("ann")
    some.unfollowed(readers)
    some.withdrawn([8, 9], readers)
    some.followed(readers)
    some.spread([post(1), post(2)], readers, older_left_out=True)
    parts = parsed(some)
    assert len(parts) > 10
    authors = [author for one in parts for author in one.authors]
    for told in (
        np.concatenate([unpacked(one.unfollowed) for one in authors]),
        np.concatenate([unpacked(one.followed) for one in authors]),
        np.concatenate([unpacked(spread.readers) for one in authors for spread in one.spread]),
        np.concatenate([unpacked(gone.readers) for one in authors for gone in one.withdrawn]),
    ):
        assert np.array_equal(told, readers)
    for author in authors:
        for spread in author.spread:
            assert [author.posts[index].number for index in spread.posts] == [1, 2]
            assert spread.older_left_out
    assert max(Counter(author.author for author in one.authors).most_common(1)[0][1] for one in parts) == 1


def test_that_many_large_posts_are_told_in_parts_and_only_the_last_leaves_older_ones_out() -> None:
    some = records()
    some.author("ann")
    some.spread(
        [post(number, 100_000) for number in range(20, 0, -1)], np.arange(2, dtype=np.uint64), older_left_out=True
    )
    spreads = [
        ([author.posts[index].number for index in spread.posts], spread.older_left_out)
        for one in parsed(some)
        for author in one.authors
        for spread in author.spread
    ]
    assert [number for numbers, _ in spreads for number in numbers] == [*range(20, 0, -1)]
    assert [left_out for _, left_out in spreads] == [False] * (len(spreads) - 1) + [True]


def test_that_a_post_larger_than_a_record_has_one_of_its_own() -> None:
    some = records()
    some.author("ann")
    some.spread([post(2, 2 * RECORD_BYTES), post(1)], np.arange(2, dtype=np.uint64))
    sizes = [len(value) for value in some.finished()]
    assert len(sizes) == 2
    assert sizes[0] > 2 * RECORD_BYTES


def test_that_an_outbox_has_no_readers() -> None:
    some = records()
    some.author("ann")
    some.withdrawn([4], NOBODY, outbox=True)
    some.spread([post(5)], NOBODY, outbox=True)
    (delivery,) = parsed(some)
    (author,) = delivery.authors
    assert [(one.outbox, one.readers) for one in author.withdrawn] == [(True, b"")]
    assert [(one.outbox, one.readers) for one in author.spread] == [(True, b"")]
    assert some.entries == 1
