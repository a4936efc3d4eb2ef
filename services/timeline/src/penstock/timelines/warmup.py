"""Has everything compiled that the store is made of, before anybody waits for it.

The first time on a machine that takes a minute, later a moment, since compiled code is kept beside the sources where
that can be written to. Without it, the first reader would wait, and all others behind it.
In:  nothing. Out: nothing; a small partition has seen every kind of change and every kind of read, and is forgotten.
"""

from __future__ import annotations

import numpy as np
from penstock.delivery.numbers import packed
from penstock.timeline.v1.delivery_pb2 import AuthorChanges, Delivery, Post, Refilled, RefillRequest, Spread, Withdrawal
from penstock.timelines.store import Partition, Shape

_SHAPE = Shape(capacity=2, slack=1, partitions=1, shards=1)


def warm_up() -> None:
    partition = Partition(0, _SHAPE)
    reader, other = _numbers(1), _numbers(2)
    posts = [Post(id=f"p{number}", author="a", time_us=number, number=number) for number in range(1, 6)]
    everything = Spread(posts=range(len(posts)), readers=_numbers(1, 2), older_left_out=True)
    outbox = Spread(posts=[0], outbox=True)
    batches = [
        AuthorChanges(author="a", followed=_numbers(1, 2), posts=posts, spread=[everything, outbox]),
        AuthorChanges(author="a", unfollowed=other, withdrawn=[Withdrawal(posts=_numbers(5), readers=reader)]),
        AuthorChanges(author="a", withdrawn=[Withdrawal(posts=_numbers(1), outbox=True)]),
        AuthorChanges(author="b", followed=reader),
    ]
    partition.watch(1)
    for offset, changes in enumerate(batches):
        _apply(partition, Delivery(epoch=1, batch=1 + offset, authors=[changes]), offset)
        _read(partition)
    for refill in partition.refills():
        asked = [RefillRequest.FromString(message) for _, message in refill.records]
        answers = [Refilled(reader=one.reader, request=one.request) for one in asked]
        _apply(partition, Delivery(epoch=1, batch=partition.next_offset + 1, refilled=answers), partition.next_offset)
    copy = Partition.restore(partition.image(), _SHAPE)
    _apply(copy, Delivery(epoch=2, batch=1), copy.next_offset)
    _read(copy)
    copy.digest()


def _apply(partition: Partition, delivery: Delivery, offset: int) -> None:
    partition.apply(delivery.SerializeToString(), offset)


def _read(partition: Partition) -> None:
    for slot in partition.view(1).tolist():
        place = partition.place(slot)
        for newer in (False, True):
            partition.page(1, place, newer=newer, limit=1)
    partition.is_refilling(1)
    partition.changed()


def _numbers(*numbers: int) -> bytes:
    return packed(np.array(numbers, np.uint64))
