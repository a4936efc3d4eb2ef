"""What is asked, who answers, and how; without a network. Processes are in test_server.py and test_replicas.py."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from types import MappingProxyType
from typing import Any

import pytest
from penstock.events.v1.event_pb2 import ConsistencyToken, Position
from penstock.timeline.v1.timeline_pb2 import (
    DescribeRequest,
    DescribeResponse,
    GetTimelineRequest,
    GetTimelineResponse,
    GetTimelinesRequest,
    GetTimelinesResponse,
)
from penstock.timelines.consistency import DELIVERIES, RAW, Consistency, Sources
from penstock.timelines.description import Description
from penstock.timelines.errors import Away, BadQuestion, NotOurs, NotYet
from penstock.timelines.forwarding import FORWARDED, Forwarding
from penstock.timelines.held import Holdings
from penstock.timelines.metrics import Metrics
from penstock.timelines.ownership import Ownership
from penstock.timelines.pages import Limits
from penstock.timelines.progress import Progress
from penstock.timelines.servicer import SERVICE, TimelineServicer
from penstock.timelines.store import Image
from penstock.timelines.subscriptions import Rules, Subscriptions
from prometheus_client import CollectorRegistry

World = Any  # of conftest.py


class FakeContext:
    def __init__(self, remaining: float | None, metadata: Mapping[str, str]) -> None:
        self._remaining = remaining
        self._metadata = metadata

    def time_remaining(self) -> float | None:
        return self._remaining

    def invocation_metadata(self) -> list[tuple[str, str]]:
        return list(self._metadata.items())


def call(remaining: float | None = 1.0, metadata: Mapping[str, str] = MappingProxyType({})) -> Any:
    """Of a call: the part of it that is used."""
    return FakeContext(remaining, metadata)


class Peers(Forwarding):
    """Remembers what is passed on, and answers with empty pages."""

    def __init__(self, ownership: Ownership, metrics: Metrics) -> None:
        super().__init__(ownership, [], metrics, service=SERVICE, credentials=None, patience_s=1)
        self.passed_on: list[tuple[int, str, bytes]] = []

    async def unary(self, owner: int, method: str, request: bytes, context: Any) -> bytes:
        self.passed_on.append((owner, method, request))
        if method == "GetTimeline":
            return b""
        pages = [
            GetTimelineResponse(applied=[Position(topic=one.user)])
            for one in GetTimelinesRequest.FromString(request).requests
        ]
        return GetTimelinesResponse(responses=pages).SerializeToString()


class House:
    def __init__(self, world: World, replicas: int = 1) -> None:
        metrics = Metrics(CollectorRegistry())
        self.world = world
        self.loading: str | None = None
        self.ownership = Ownership(replica=0, replicas=replicas, partitions=2)
        self.holdings = Holdings([world.held[number] for number in self.ownership.own])
        self.peers = Peers(self.ownership, metrics)
        sources = Sources(
            partitions={RAW: 1, DELIVERIES: 2},
            progress=Progress(DELIVERIES),
            position=self.holdings.position,
            committed=self._committed,
            ends=self._ends,
        )
        self.servicer = TimelineServicer(
            holdings=self.holdings,
            ownership=self.ownership,
            consistency=Consistency(sources),
            subscriptions=Subscriptions(Rules(1, 1, 1, 1), metrics),
            forwarding=self.peers,
            description=Description(self.holdings, world.shape, self._image),
            metrics=metrics,
            limits=Limits(5, 100),
            batch_reads_max=3,
            patience_s=0.01,
            loading=lambda: self.loading,
        )

    async def _committed(self) -> list[int]:
        raise Away("Kafka does not answer")

    async def _ends(self) -> dict[tuple[str, int], int]:
        return {}

    def _image(self, partition: int) -> Future[Image]:
        made: Future[Image] = Future()
        made.set_result(self.world.held[partition].partition.image())
        return made

    async def get(self, request: GetTimelineRequest, context: Any = None) -> GetTimelineResponse:
        answer = await self.servicer.get_timeline(request.SerializeToString(), context or call())
        return GetTimelineResponse.FromString(answer)

    async def get_many(self, *requests: GetTimelineRequest, context: Any = None) -> list[GetTimelineResponse]:
        batch = GetTimelinesRequest(requests=requests).SerializeToString()
        answer = await self.servicer.get_timelines(batch, context or call())
        return list(GetTimelinesResponse.FromString(answer).responses)


@pytest.fixture
def house(world: World) -> House:
    for partition in (0, 1):
        world.apply(world.join.follow(world.user_in(partition), "ann"))
    for number in range(3):
        world.apply(world.join.post("ann", f"p{number}", 1 + number))
    return House(world)


async def test_a_page(house: House) -> None:
    user = house.world.user_in(1)
    page = await house.get(GetTimelineRequest(user=user))
    assert list(page.posts) == house.world.join.timeline(user)


async def test_nothing_is_answered_before_all_is_loaded(house: House) -> None:
    house.loading = "timelines are loading: 1 of 2"
    request = GetTimelineRequest(user="u")
    with pytest.raises(Away, match="timelines are loading: 1 of 2") as caught:
        await house.get(request)
    assert caught.value.retry_after_ms
    with pytest.raises(Away):
        await house.get_many(request)


async def test_a_token_that_is_not_reflected_in_time(house: House) -> None:
    token = ConsistencyToken(positions=[Position(topic=DELIVERIES, partition=1, offset=1_000)])
    user = house.world.user_in(1)
    request = GetTimelineRequest(user=user, consistency=token)
    with pytest.raises(NotYet, match="set allow_stale"):
        await house.get(request, call(remaining=0.05))
    with pytest.raises(NotYet, match=r"after 0\.0 s"):
        await house.get(request, call(remaining=None))
    request.allow_stale = True
    page = await house.get(request, call(remaining=0.05))
    assert page.stale
    assert len(page.posts) == 3


async def test_a_token_that_kafka_must_be_asked_about_while_it_is_away(house: House) -> None:
    token = ConsistencyToken(positions=[Position(topic=RAW, partition=0, offset=0)])
    request = GetTimelineRequest(user=house.world.user_in(1), consistency=token)
    with pytest.raises(Away, match="Kafka does not answer"):
        await house.get(request)
    request.allow_stale = True
    page = await house.get(request)
    assert (page.stale, len(page.posts)) == (True, 3)


async def test_several_pages_in_the_order_asked(house: House) -> None:
    users = [house.world.user_in(1), "nobody", house.world.user_in(0)]
    pages = await house.get_many(*(GetTimelineRequest(user=user, limit=2) for user in users))
    assert [[post.id for post in page.posts] for page in pages] == [["p2", "p1"], [], ["p2", "p1"]]
    assert await house.get_many() == []
    with pytest.raises(BadQuestion, match="4 requests: at most 3"):
        await house.get_many(*[GetTimelineRequest(user="u")] * 4)
    with pytest.raises(BadQuestion, match=r"requests\[1\]: user is empty"):
        await house.get_many(GetTimelineRequest(user="u"), GetTimelineRequest())


async def test_a_batch_of_large_posts_is_cut_to_what_a_message_holds(world: World) -> None:
    user = world.user_in(0)
    world.apply(world.join.follow(user, "ann"))
    for number in range(4):
        world.apply(world.join.post("ann", f"p{number}", 1 + number, text="x" * 500_000))
    house = House(world)
    assert len((await house.get(GetTimelineRequest(user=user))).posts) == 4
    pages = await house.get_many(*[GetTimelineRequest(user=user)] * 3)
    assert [len(page.posts) for page in pages] == [2, 2, 2]
    assert [page.next.post_id for page in pages] == ["p2", "p2", "p2"]


async def test_what_is_for_another_replica_is_passed_on_as_it_came(house: House) -> None:
    house = House(house.world, replicas=2)
    mine, other = house.world.user_in(0), house.world.user_in(1)
    request = GetTimelineRequest(user=other, limit=3)
    await house.get(request)
    assert house.peers.passed_on == [(1, "GetTimeline", request.SerializeToString())]
    pages = await house.get_many(GetTimelineRequest(user=other), GetTimelineRequest(user=mine), request)
    assert [page.applied[0].topic for page in pages] == [other, DELIVERIES, other]
    assert GetTimelinesRequest.FromString(house.peers.passed_on[1][2]) == GetTimelinesRequest(
        requests=[GetTimelineRequest(user=other), request]
    )
    with pytest.raises(BadQuestion):
        await house.get(GetTimelineRequest(user=other, limit=101))
    assert len(house.peers.passed_on) == 2, "what makes no sense is not passed on"


async def test_what_was_passed_on_already_is_not_passed_on_again(house: House) -> None:
    house = House(house.world, replicas=2)
    request, context = GetTimelineRequest(user=house.world.user_in(1)), call(metadata={FORWARDED: "1"})
    for asked in (house.get(request, context), house.get_many(request, context=context)):
        with pytest.raises(NotOurs, match="this replica, 0 of 2, by whose count it belongs to replica 1"):
            await asked
    assert house.peers.passed_on == []


async def test_a_description_hashes_once_per_content(house: House) -> None:
    async def describe() -> DescribeResponse:
        raw = DescribeRequest(with_hash=True).SerializeToString()
        return DescribeResponse.FromString(await house.servicer.describe(raw, call()))

    first, second = await asyncio.gather(describe(), describe())
    assert first == second
    for described in first.partitions:
        held = house.world.held[described.timeline_partition]
        assert int.from_bytes(described.content_hash, "little") == held.partition.digest() != 0
        assert (described.users, described.entries, described.posts) == (1, 3, 3)
        assert list(described.applied) == [Position(topic=DELIVERIES, partition=held.number, offset=held.position - 1)]
    house.world.apply(house.world.join.delete("ann", "p0"))
    assert (await describe()).partitions[0].content_hash != first.partitions[0].content_hash


async def test_bytes_that_are_no_request(house: House) -> None:
    for method, name in (
        (house.servicer.get_timeline, "GetTimelineRequest"),
        (house.servicer.get_timelines, "GetTimelinesRequest"),
        (house.servicer.describe, "DescribeRequest"),
    ):
        with pytest.raises(BadQuestion, match=f"not a penstock.timeline.v1.{name}"):
            await method(b"\xff", call())
