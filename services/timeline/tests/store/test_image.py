"""A partition that is restored is the one that was kept; an image that does not fit is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from delivery_maker import Maker, followed, post, spread, unfollowed, withdrawn
from penstock.delivery.numbers import user_number
from penstock.timelines.store import IMAGE_FORMAT, Partition, Shape

SHAPE = Shape(capacity=3, slack=2, partitions=1, shards=2)


def busy() -> Maker:
    """With outboxes, free slots, a floor that is nothing else, and refills under way."""
    maker = Maker(SHAPE)
    users = [f"u{number}" for number in range(100)]
    posts = [post("a", str(time_us), time_us, "x" * time_us) for time_us in range(8)]
    maker.tell(followed("a", users), followed("star", users[:50]), followed("b", users))
    for one in posts:
        maker.tell(spread([one], users))
    maker.tell(spread([post("star", "s", 3)], outbox=True))
    maker.tell(withdrawn(posts[5:], users[:10]), unfollowed("b", users[20:30]))
    return maker


def test_that_what_is_restored_behaves_as_what_was_kept() -> None:
    maker = busy()
    assert maker.partition.refilling == 10
    again = Partition.restore(maker.partition.image(), SHAPE, salt=7)
    assert again.digest() == maker.partition.digest()
    assert [(one.reader, one.request, one.records) for one in again.refills()] == [
        (one.reader, one.request, one.records) for one in maker.partition.refills()
    ]
    counts = (again.users, again.entries, again.posts, again.refilling, again.next_offset)
    kept = maker.partition
    assert counts == (kept.users, kept.entries, kept.posts, kept.refilling, kept.next_offset)
    record = maker.record(spread([post("a", "new", 99)], ["u1", "u2"]), spread([post("star", "t", 98)], outbox=True))
    assert kept.apply(record, kept.next_offset) == again.apply(record, again.next_offset)
    assert again.digest() == kept.digest()
    assert again.apply(record, again.next_offset).dropped


def test_that_an_image_is_a_copy_in_plain_arrays() -> None:
    maker = busy()
    image = maker.partition.image()
    before = maker.partition.digest()
    maker.tell(spread([post("a", "new", 99)], ["u1", "u2"]))
    assert maker.partition.digest() != before
    assert Partition.restore(image, SHAPE).digest() == before
    assert all(array.ndim == 1 and array.dtype.kind in "iu" for array in image.arrays.values())


def test_that_an_empty_partition_can_be_kept() -> None:
    again = Partition.restore(Partition(0, SHAPE).image(), SHAPE)
    assert (again.users, again.digest(), again.next_offset) == (0, 0, 0)
    assert again.view(user_number("ann")).size == 0


def test_that_watches_are_not_kept() -> None:
    maker = busy()
    maker.partition.watch(user_number("u1"))
    again = Partition.restore(maker.partition.image(), SHAPE)
    again.apply(maker.record(spread([post("a", "new", 99)], ["u1"])), again.next_offset)
    assert again.changed() == []


def test_that_another_format_or_shape_is_refused() -> None:
    image = busy().partition.image()
    with pytest.raises(ValueError, match=f"format 99; this release reads format {IMAGE_FORMAT}"):
        Partition.restore(replace(image, format=99), SHAPE)
    with pytest.raises(ValueError, match="the image has capacity 3, not 4"):
        Partition.restore(image, replace(SHAPE, capacity=4))
    with pytest.raises(ValueError, match="the image has shards 2, not 3"):
        Partition.restore(image, replace(SHAPE, shards=3))
