from __future__ import annotations

import asyncio

import pytest
from penstock.events.v1.event_pb2 import ConsistencyToken, Position
from penstock.timeline.v1.delivery_pb2 import JoinProgress
from penstock.timelines.consistency import DELIVERIES, POSITIONS_MAX, RAW, Consistency, Sources
from penstock.timelines.errors import BadQuestion
from penstock.timelines.progress import Progress

POSTS, FOLLOWS = "tables.posts.v1", "tables.follows.v1"
OURS = 1  # the partition that the tests read


class World:
    """A pipeline at rest, with two partitions of everything."""

    def __init__(self) -> None:
        self.positions = {OURS: 0}
        self.committed = [0, 0]
        self.ends = {(topic, n): 0 for topic in (POSTS, FOLLOWS, DELIVERIES) for n in (0, 1)}
        self.progress = Progress(DELIVERIES)
        self.asked = 0
        self.consistency = Consistency(
            Sources(
                partitions=dict.fromkeys((RAW, DELIVERIES, POSTS, FOLLOWS), 2),
                progress=self.progress,
                position=self.positions.get,
                committed=self._committed,
                ends=self._ends,
            )
        )

    async def _committed(self) -> list[int]:
        self.asked += 1
        return self.committed

    async def _ends(self) -> dict[tuple[str, int], int]:
        return self.ends

    def report(self, reflects: dict[tuple[str, int], int], delivered: int) -> None:
        message = JoinProgress(
            query="timelines",
            reflects=[Position(topic=topic, partition=n, offset=offset) for (topic, n), offset in reflects.items()],
            delivered=[Position(topic=DELIVERIES, partition=OURS, offset=delivered)],
        )
        self.progress.take(message.SerializeToString(), b"timelines")
        self.consistency.progressed()

    def apply(self, position: int) -> None:
        self.positions[OURS] = position
        self.consistency.progressed()

    async def reached(self, *positions: Position, timeout_s: float = 0.05) -> bool:
        return await self.consistency.reached(ConsistencyToken(positions=positions), OURS, timeout_s)


def at(topic: str, offset: int, partition: int = 0) -> Position:
    return Position(topic=topic, partition=partition, offset=offset)


async def settled(task: asyncio.Task[bool]) -> bool:
    """Whether it has ended, when everybody has had a turn."""
    for _ in range(5):
        await asyncio.sleep(0)
    return task.done()


async def test_no_token_needs_no_waiting() -> None:
    assert await World().reached(timeout_s=0)


async def test_a_delivery_is_waited_for_until_it_is_applied() -> None:
    world = World()
    waiting = asyncio.create_task(world.reached(at(DELIVERIES, 4, OURS), timeout_s=30))
    for position in (3, 4):
        world.apply(position)
        assert not await settled(waiting)
    world.apply(5)
    assert await waiting


async def test_a_delivery_to_others_says_nothing_about_this_timeline() -> None:
    assert await World().reached(at(DELIVERIES, 4, 0))


async def test_a_row_needs_the_joins_report_and_then_its_deliveries() -> None:
    world = World()
    waiting = asyncio.create_task(world.reached(at(POSTS, 7), at(FOLLOWS, 2, 1), timeout_s=30))
    assert not await settled(waiting)
    world.report({(POSTS, 0): 7}, delivered=3)
    assert not await settled(waiting), "the follow is not reflected"
    world.report({(POSTS, 0): 7, (FOLLOWS, 1): 2}, delivered=5)
    assert not await settled(waiting), "what was delivered is not applied"
    world.apply(6)
    assert await waiting


async def test_an_event_needs_the_commit_then_all_rows_then_their_deliveries() -> None:
    world = World()
    token = at(RAW, 7, 1)
    assert not await world.reached(token)
    world.committed[1] = 8
    world.ends[POSTS, 0], world.ends[FOLLOWS, 1] = 5, 3
    assert not await world.reached(token), "the join has not said anything"
    world.report({(POSTS, 0): 4, (FOLLOWS, 1): 1}, delivered=9)
    assert not await world.reached(token), "a follow is missing"
    world.report({(POSTS, 0): 4, (FOLLOWS, 1): 2}, delivered=9)
    assert not await world.reached(token), "nothing is applied"
    world.apply(10)
    assert await world.reached(token)


async def test_an_event_that_made_no_row_needs_no_join() -> None:
    world = World()
    world.committed[0] = 1
    assert await world.reached(at(RAW, 0))


async def test_enrichment_is_asked_again_until_it_has_committed() -> None:
    world = World()
    waiting = asyncio.create_task(world.reached(at(RAW, 0), timeout_s=30))
    while world.asked < 3:
        await asyncio.sleep(0.001)
    world.committed[0] = 1
    assert await waiting


@pytest.mark.parametrize(
    ("position", "said"),
    [
        (at("no.such", 0), r"'no.such'; timelines come from events\.raw\.v1, timeline\.deliveries\.v1, tables"),
        (at(POSTS, 0, 2), "the topic has the partitions 0 to 1"),
        (at(RAW, 0, -1), "the topic has the partitions 0 to 1"),
        (at(RAW, -1), "offsets from 0"),
    ],
)
async def test_positions_that_cannot_be(position: Position, said: str) -> None:
    with pytest.raises(BadQuestion, match=said):
        await World().reached(position)


async def test_a_token_is_not_without_end() -> None:
    with pytest.raises(BadQuestion, match=f"at most {POSITIONS_MAX} are allowed"):
        await World().reached(*[at(DELIVERIES, 0)] * (POSITIONS_MAX + 1))


async def test_a_reader_that_has_seen_more_waits_for_us() -> None:
    world = World()
    world.ends[DELIVERIES, OURS] = 10
    assert not await world.consistency.catches_up(OURS, 5, 0.01)
    waiting = asyncio.create_task(world.consistency.catches_up(OURS, 5, 30))
    assert not await settled(waiting)
    world.apply(6)
    assert await waiting
    assert await world.consistency.catches_up(OURS, 5, 0)


async def test_a_reader_that_has_seen_another_log_does_not_wait_for_what_will_not_come() -> None:
    world = World()
    world.ends[DELIVERIES, OURS] = 3
    world.apply(3)
    assert await world.consistency.catches_up(OURS, 1_000_000, 30)
