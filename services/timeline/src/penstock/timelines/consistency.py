"""Waits until a user's timeline here reflects what a token names.

In:  a consistency token, the timeline partition of the reader, a time limit.
Out: True when every position is reflected, False when time ran out. BadQuestion for positions that say nothing here.
- A position of timeline.deliveries.v1 is reflected when it is applied here.
- One of the posts' or follows' topic, when the join reports that its deliveries reflect it, and those are applied.
- One of events.raw.v1 (what Publish returns), when enrichment has committed it, and all that the posts' and follows'
  logs held after that is reflected.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.events.v1.event_pb2 import ConsistencyToken, Position
from penstock.timelines.errors import BadQuestion
from penstock.timelines.progress import Progress

RAW = "events.raw.v1"
DELIVERIES = "timeline.deliveries.v1"
ASK_AGAIN_S = 0.02
POSITIONS_MAX = 1_000


@dataclass(frozen=True)
class Sources:
    """Who knows: topics by their names on the map, with their partitions."""

    partitions: Mapping[str, int]  # of events.raw.v1, timeline.deliveries.v1, the posts' and the follows' topic
    progress: Progress
    position: Callable[[int], int | None]  # of a partition that is ours: the first offset that is not applied
    committed: Callable[[], Awaitable[Sequence[int]]]  # of events.raw.v1, by enrichment
    ends: Callable[[], Awaitable[Mapping[tuple[str, int], int]]]  # of the deliveries', posts' and follows' logs


class Consistency:
    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._progress = asyncio.Event()

    def progressed(self) -> None:
        """Something was applied or reported. From the event loop's thread."""
        self._progress.set()
        self._progress = asyncio.Event()

    async def reached(self, token: ConsistencyToken, partition: int, timeout_s: float) -> bool:
        if not token.positions:
            return True
        self._check(token)
        try:
            async with asyncio.timeout(timeout_s):
                await self._reflects(token, partition)
        except TimeoutError:
            return False
        return True

    async def catches_up(self, partition: int, offset: int, timeout_s: float) -> bool:
        """Whether the record is applied within that time, or all that there is: the record may be of a former log."""
        if self._is_applied(partition, offset):
            return True
        try:
            async with asyncio.timeout(timeout_s):
                end = (await self._sources.ends())[DELIVERIES, partition]
                await self._until(lambda: self._is_applied(partition, min(offset, end - 1)))
        except TimeoutError:
            return False
        return True

    def _check(self, token: ConsistencyToken) -> None:
        if len(token.positions) > POSITIONS_MAX:
            raise BadQuestion(f"the token has {len(token.positions)} positions: at most {POSITIONS_MAX} are allowed")
        for position in token.positions:
            count = self._sources.partitions.get(position.topic)
            if count is None:
                known = ", ".join(self._sources.partitions)
                raise BadQuestion(f"the token names {position.topic!r}; timelines come from {known}")
            if not 0 <= position.partition < count or position.offset < 0:
                raise BadQuestion(
                    f"the token names {position.topic}[{position.partition}]@{position.offset}, which cannot be:"
                    f" the topic has the partitions 0 to {count - 1}, and offsets from 0"
                )

    async def _reflects(self, token: ConsistencyToken, partition: int) -> None:
        raw = [at for at in token.positions if at.topic == RAW]
        wanted: dict[tuple[str, int], int] = {}
        if raw:
            await self._until_committed(raw)
            ends = await self._sources.ends()
            wanted = {place: end - 1 for place, end in ends.items() if end and place[0] != DELIVERIES}
        for at in token.positions:
            if at.topic not in (RAW, DELIVERIES):
                wanted[at.topic, at.partition] = max(wanted.get((at.topic, at.partition), -1), at.offset)
        if wanted:
            await self._until_delivered(wanted, partition)
        for at in token.positions:
            # What is delivered to other users' partitions says nothing about this timeline.
            if at.topic == DELIVERIES and at.partition == partition:
                await self._until(lambda offset=at.offset: self._is_applied(partition, offset))  # type: ignore[misc]

    async def _until_committed(self, raw: Sequence[Position]) -> None:
        while True:
            committed = await self._sources.committed()
            if all(committed[at.partition] > at.offset for at in raw):
                return
            await asyncio.sleep(ASK_AGAIN_S)  # only Kafka knows, and it cannot call back

    async def _until_delivered(self, wanted: Mapping[tuple[str, int], int], partition: int) -> None:
        def is_delivered() -> bool:
            offset = self._sources.progress.needed(wanted, partition)
            return offset is not None and self._is_applied(partition, offset)

        await self._until(is_delivered)

    def _is_applied(self, partition: int, offset: int) -> bool:
        position = self._sources.position(partition)
        return position is not None and position > offset

    async def _until(self, met: Callable[[], bool]) -> None:
        while not met():
            await self._progress.wait()
