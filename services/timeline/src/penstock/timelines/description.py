"""What this replica holds, for Describe.

In:  the partitions. Out: their counts, how far they have come, and, where asked for, their canonical hash.
A hash takes a while: it is made from a copy, beside reads and deliveries, one at a time, and once per content.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

from penstock.timeline.v1 import timeline_pb2
from penstock.timelines import pages
from penstock.timelines.consistency import DELIVERIES
from penstock.timelines.held import Held, Holdings
from penstock.timelines.store import Image, Partition, Shape

HASH_BYTES = 16


class Description:
    """`image` gives a copy of a partition, made by whoever changes it."""

    def __init__(self, holdings: Holdings, shape: Shape, image: Callable[[int], Future[Image]]) -> None:
        self._holdings = holdings
        self._shape = shape
        self._image = image
        self._hashing = asyncio.Lock()
        self._hashes: dict[int, tuple[int, bytes]] = {}  # by partition: the next offset, and the hash then

    async def describe(self, *, with_hash: bool) -> timeline_pb2.DescribeResponse:
        described = [await self._partition(held, with_hash=with_hash) for held in self._holdings]
        return timeline_pb2.DescribeResponse(
            partitions=described, partitions_total=self._shape.partitions, capacity=self._shape.capacity
        )

    async def _partition(self, held: Held, *, with_hash: bool) -> timeline_pb2.PartitionDescription:
        if not with_hash:
            return self._counted(held)
        async with self._hashing:
            known = self._hashes.get(held.number)
            if known is None or known[0] != held.partition.next_offset:
                copy = await asyncio.to_thread(
                    Partition.restore, await asyncio.wrap_future(self._image(held.number)), self._shape
                )
                digest = (await asyncio.to_thread(copy.digest)).to_bytes(HASH_BYTES, "little")
                known = self._hashes[held.number] = copy.next_offset, digest
            described = self._counted(held)
        # Of the state that was hashed, which deliveries may have passed by now.
        del described.applied[:]
        if known[0]:
            described.applied.add(topic=DELIVERIES, partition=held.number, offset=known[0] - 1)
        described.content_hash = known[1]
        return described

    def _counted(self, held: Held) -> timeline_pb2.PartitionDescription:
        with held.lock:
            partition = held.partition
            return timeline_pb2.PartitionDescription(
                timeline_partition=held.number,
                users=partition.users,
                entries=partition.entries,
                posts=partition.posts,
                bytes=partition.memory_bytes,
                applied=pages.applied(held),
                lag_records=held.lag,
                refilling=partition.refilling,
            )
