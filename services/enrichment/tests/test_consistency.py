from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from penstock.enrichment.consistency import RAW, Consistency
from penstock.enrichment.errors import BadQuestion
from penstock.events.v1.event_pb2 import ConsistencyToken, Position

TABLE = "tables.posts.v1"


class Tables:
    """A follower of one table with one partition."""

    def __init__(self) -> None:
        self.next_offset = 0
        self.end = 10

    def reflects(self, map_topic: str, partition: int, offset: int) -> bool | None:
        return self.next_offset > offset if map_topic == TABLE else None

    def ends(self) -> dict[tuple[str, int], int]:
        return {(TABLE, 0): self.end}

    def holds(self, ends: Mapping[tuple[str, int], int]) -> bool:
        return self.next_offset >= ends[TABLE, 0]


def token(*positions: tuple[str, int]) -> ConsistencyToken:
    return ConsistencyToken(positions=[Position(topic=topic, offset=offset) for topic, offset in positions])


async def test_no_token_needs_no_waiting() -> None:
    assert await Consistency(Tables(), lambda _: 0).reached(ConsistencyToken(), 0)


async def test_a_tables_position_is_waited_for_until_it_is_applied() -> None:
    tables = Tables()
    consistency = Consistency(tables, lambda _: 0)
    waiting = asyncio.create_task(consistency.reached(token((TABLE, 4)), 30))
    for offset in (3, 4, 5):
        await asyncio.sleep(0)
        assert not waiting.done()
        tables.next_offset = offset
        consistency.progressed()
    assert await waiting


async def test_a_raw_position_needs_the_commit_and_then_the_tables() -> None:
    tables, committed = Tables(), [0]
    consistency = Consistency(tables, lambda _: committed[0])
    assert not await consistency.reached(token((RAW, 7)), 0.05)
    committed[0] = 8
    assert not await consistency.reached(token((RAW, 7)), 0.05), "the rows that follow from it are not applied"
    tables.next_offset = 10
    assert await consistency.reached(token((RAW, 7)), 30)


async def test_time_runs_out_and_strange_topics_are_told() -> None:
    consistency = Consistency(Tables(), lambda _: 0)
    assert not await consistency.reached(token((TABLE, 0)), 0.01)
    with pytest.raises(BadQuestion, match="which no table here comes from"):
        await consistency.reached(token(("no.such", 0)), 1)
