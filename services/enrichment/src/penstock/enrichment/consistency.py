"""Waits until this instance's tables reflect what a token names.

In:  a consistency token and a deadline. Out: True when every position is reflected, False when time ran out.
A position in a table's topic is reflected when it is applied here. A position in events.raw.v1 (what Publish returns)
is reflected when some instance has committed it, and this one has applied all that tables' logs held after that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from penstock.enrichment.errors import BadQuestion
from penstock.events.v1.event_pb2 import ConsistencyToken, Position

RAW = "events.raw.v1"
ASK_AGAIN_S = 0.02


class Tables(Protocol):
    """What must be known of the follower."""

    def reflects(self, map_topic: str, partition: int, offset: int) -> bool | None: ...
    def ends(self) -> dict[tuple[str, int], int]: ...
    def holds(self, ends: Mapping[tuple[str, int], int]) -> bool: ...


class Consistency:
    """`committed(partition)` asks Kafka how far the join has come; it may block and runs in a thread."""

    def __init__(self, tables: Tables, committed: Callable[[int], int]) -> None:
        self._tables = tables
        self._committed = committed
        self._progress = asyncio.Event()

    def progressed(self) -> None:
        """Something was applied or committed. From the event loop's thread."""
        self._progress.set()
        self._progress = asyncio.Event()

    async def reached(self, token: ConsistencyToken, timeout_s: float) -> bool:
        if not token.positions:
            return True
        try:
            async with asyncio.timeout(timeout_s):
                for position in token.positions:
                    await self._reflects(position)
        except TimeoutError:
            return False
        return True

    async def _reflects(self, position: Position) -> None:
        if position.topic == RAW:
            while await asyncio.to_thread(self._committed, position.partition) <= position.offset:
                await asyncio.sleep(ASK_AGAIN_S)  # another instance may be the one to do it: only Kafka knows
            ends = await asyncio.to_thread(self._tables.ends)
            await self._until(lambda: self._tables.holds(ends))
            return
        if self._tables.reflects(position.topic, position.partition, position.offset) is None:
            raise BadQuestion(f"the token names {position.topic!r}, which no table here comes from")
        await self._until(lambda: bool(self._tables.reflects(position.topic, position.partition, position.offset)))

    async def _until(self, met: Callable[[], bool]) -> None:
        while not met():
            await self._progress.wait()
