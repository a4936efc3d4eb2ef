"""Who is told what, and when a subscription ends; without a network."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from penstock.delivery.numbers import user_number
from penstock.timeline.v1.timeline_pb2 import Cursor, SubscribeResponse
from penstock.timelines.difference import reader_of
from penstock.timelines.errors import Away, Full, TooSlow
from penstock.timelines.metrics import Metrics
from penstock.timelines.subscriptions import Rules, Stream, Subscriber, Subscriptions
from prometheus_client import CollectorRegistry

World = Any  # of conftest.py
FOR_EVER = 10_000.0


class Client:
    """Takes messages as long as `open` is set."""

    def __init__(self) -> None:
        self.told: list[SubscribeResponse] = []
        self.open = asyncio.Event()
        self.open.set()
        self._more = asyncio.Condition()

    async def write(self, message: bytes) -> None:
        await self.open.wait()
        async with self._more:
            self.told.append(SubscribeResponse.FromString(message))
            self._more.notify_all()

    async def has(self, count: int) -> list[str]:
        """Waits for so many messages, and says what they are."""
        async with asyncio.timeout(30), self._more:
            await self._more.wait_for(lambda: len(self.told) >= count)
        return [message.added.id or message.removed.id or "heartbeat" for message in self.told]


class House:
    def __init__(self, world: World, **rules: Any) -> None:
        self.world = world
        self.registry = CollectorRegistry()
        given = {"subscribers_max": 10, "queue": 3, "heartbeat_s": FOR_EVER, "age_max_s": FOR_EVER} | rules
        self.subscriptions = Subscriptions(Rules(**given), Metrics(self.registry))

    def subscribe(self, client: Client, cursor: Cursor | None = None) -> asyncio.Task[None]:
        subscriber, user = Subscriber(), user_number("reader")
        held, reader = self.world.held_of("reader"), reader_of(cursor or Cursor(), None)
        tell = self.subscriptions.tell
        running = self.subscriptions.run(subscriber, lambda: tell(subscriber, held, user, reader, client.write))
        return asyncio.create_task(running)

    def apply(self, written: Any) -> None:
        self.world.apply(written)
        for held in self.world.held.values():
            self.subscriptions.wake(held.partition.changed())

    def metric(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(f"penstock_timeline_{name}", labels) or 0


@pytest.fixture
def house(world: World) -> House:
    world.apply(world.join.follow("reader", "ann"))
    world.apply(world.join.post("ann", "p0", 1))
    return House(world)


async def test_it_begins_with_what_is_there_and_says_when_that_is_all(house: House) -> None:
    client = Client()
    house.subscribe(client)
    assert await client.has(2) == ["p0", "heartbeat"]
    house.apply(house.world.join.post("ann", "p1", 2))
    house.apply(house.world.join.delete("ann", "p0"))
    assert await client.has(4) == ["p0", "heartbeat", "p0", "p1"]
    assert client.told[2].HasField("removed")
    assert house.metric("changes_told_total", change="added") == 2
    assert house.metric("changes_told_total", change="removed") == 1


async def test_a_change_that_changed_nothing_for_the_reader_is_not_told(house: House) -> None:
    client = Client()
    house.subscribe(client)
    await client.has(2)
    house.apply(house.world.join.post("ann", "p1", 2))
    house.apply(house.world.join.delete("ann", "p1"))
    house.apply(house.world.join.post("ann", "p2", 3))
    assert await client.has(3) == ["p0", "heartbeat", "p2"]


async def test_a_quiet_timeline_has_heartbeats(world: World) -> None:
    house, client = House(world, heartbeat_s=0.01), Client()
    house.subscribe(client)
    assert await client.has(4) == ["heartbeat"] * 4


async def test_changes_while_the_reader_is_busy_are_one_difference(house: House) -> None:
    client = Client()
    house.subscribe(client)
    await client.has(2)
    client.open.clear()
    house.apply(house.world.join.post("ann", "p1", 2))
    await asyncio.sleep(0.01)  # it is about to write p1
    house.apply(house.world.join.post("ann", "p2", 3))
    house.apply(house.world.join.delete("ann", "p2"))
    house.apply(house.world.join.post("ann", "p3", 4))
    client.open.set()
    assert await client.has(4) == ["p0", "heartbeat", "p1", "p3"]


async def test_a_reader_that_takes_nothing_is_cut_off_and_can_resume(house: House) -> None:
    client, other = Client(), Client()
    slow, quick = house.subscribe(client), house.subscribe(other)
    await client.has(2)
    await other.has(2)
    client.open.clear()
    for number in range(1, 7):
        house.apply(house.world.join.post("ann", f"p{number}", 1 + number))
        await other.has(2 + number)
    with pytest.raises(TooSlow, match="changed 4 times while a message was not taken; subscribe again"):
        await slow
    assert not quick.done()
    assert house.metric("slow_readers_total") == 1
    assert house.metric("subscribers") == 1
    client.open.set()
    house.subscribe(client, client.told[-1].cursor)
    assert (await client.has(9))[2:] == [*(f"p{number}" for number in range(1, 7)), "heartbeat"]


async def test_there_is_room_for_so_many(house: House) -> None:
    house = House(house.world, subscribers_max=1)
    first = house.subscribe(Client())
    await asyncio.sleep(0)
    with pytest.raises(Full, match="1 subscriptions are under way") as caught:
        await house.subscribe(Client())
    assert caught.value.retry_after_ms
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    client = Client()
    house.subscribe(client)
    await client.has(2)


async def test_a_stop_ends_all_and_takes_no_others(house: House) -> None:
    client = Client()
    one, relayed = house.subscribe(client), asyncio.create_task(house.subscriptions.run(Stream(), _for_ever))
    await client.has(2)
    house.subscriptions.drain()
    for stream in (one, relayed, house.subscribe(client)):
        with pytest.raises(Away, match="this replica stops; subscribe again"):
            await stream
    assert house.metric("subscribers") == 0


async def test_connections_are_renewed(house: House) -> None:
    house = House(house.world, age_max_s=0.01)
    with pytest.raises(Away, match="connections are renewed"):
        await house.subscribe(Client())


async def test_a_failure_is_the_callers(house: House) -> None:
    async def fail() -> None:
        raise Away("gone")

    with pytest.raises(Away, match="gone"):
        await house.subscriptions.run(Stream(), fail)
    assert house.metric("subscribers") == 0


async def test_whoever_hangs_up_is_no_longer_watched(house: House) -> None:
    client = Client()
    task = house.subscribe(client)
    await client.has(2)
    house.world.apply(house.world.join.post("ann", "p1", 2))
    assert house.world.held_of("reader").partition.changed() == [user_number("reader")]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    house.world.apply(house.world.join.post("ann", "p2", 3))
    assert house.world.held_of("reader").partition.changed() == []


async def _for_ever() -> None:
    await asyncio.Event().wait()
