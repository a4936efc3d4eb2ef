"""Timelines by gRPC: pages, several at once, what is held here; subscriptions. Takes and gives bytes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message
from penstock.events.v1.event_pb2 import ConsistencyToken
from penstock.serving.calls import Calls
from penstock.timeline.v1 import timeline_pb2
from penstock.timelines import pages, wire
from penstock.timelines.consistency import DELIVERIES, Consistency
from penstock.timelines.description import Description
from penstock.timelines.difference import reader_of
from penstock.timelines.errors import Away, BadQuestion, NotYet
from penstock.timelines.forwarding import Forwarding
from penstock.timelines.held import Holdings
from penstock.timelines.metrics import Metrics
from penstock.timelines.ownership import Ownership, Seat
from penstock.timelines.pages import Limits
from penstock.timelines.subscriptions import Stream, Subscriber, Subscriptions

SERVICE = "penstock.timeline.v1.TimelineService"
_REQUESTS = timeline_pb2.GetTimelinesRequest.REQUESTS_FIELD_NUMBER
_RESPONSES = timeline_pb2.GetTimelinesResponse.RESPONSES_FIELD_NUMBER
Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"
Request = TypeVar("Request", bound=Message)


class TimelineServicer:
    """`loading` says why nothing can be answered yet; None when it can."""

    def __init__(
        self,
        *,
        holdings: Holdings,
        ownership: Ownership,
        consistency: Consistency,
        subscriptions: Subscriptions,
        forwarding: Forwarding,
        description: Description,
        metrics: Metrics,
        limits: Limits,
        batch_reads_max: int,
        patience_s: float,
        loading: Callable[[], str | None],
    ) -> None:
        self._holdings = holdings
        self._ownership = ownership
        self._consistency = consistency
        self._subscriptions = subscriptions
        self._forwarding = forwarding
        self._description = description
        self._limits = limits
        self._batch_reads_max = batch_reads_max
        self._patience_s = patience_s
        self._loading = loading
        self._calls = {
            name: Calls(metrics.calls, kind, SERVICE, name)
            for name, kind in (
                ("GetTimeline", "unary"),
                ("GetTimelines", "unary"),
                ("Describe", "unary"),
                ("Subscribe", "server_stream"),
            )
        }

    def handler(self) -> grpc.GenericRpcHandler:
        methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "GetTimeline": self._unary("GetTimeline", self.get_timeline),
            "GetTimelines": self._unary("GetTimelines", self.get_timelines),
            "Describe": self._unary("Describe", self.describe),
            "Subscribe": grpc.unary_stream_rpc_method_handler(self.subscribe),
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    def _unary(
        self, name: str, answer: Callable[[bytes, Context], Awaitable[bytes]]
    ) -> grpc.RpcMethodHandler[bytes, bytes]:
        calls = self._calls[name]

        async def method(raw: bytes, context: Context) -> bytes:
            return await calls.run(context, lambda: answer(raw, context))

        return grpc.unary_unary_rpc_method_handler(method)

    async def get_timeline(self, raw: bytes, context: Context) -> bytes:
        request = _parsed(timeline_pb2.GetTimelineRequest, raw)
        asked = pages.question(request, self._limits)
        seat = self._ownership.seat(request.user)
        if seat.owner != self._ownership.replica:
            self._forwarding.refuse_twice(seat.owner, context)
            return await self._forwarding.unary(seat.owner, "GetTimeline", raw, context)
        return await self._page(request, asked, seat, self._patience(context), pages.PAGE_BYTES_MAX)

    async def get_timelines(self, raw: bytes, context: Context) -> bytes:
        batch = _parsed(timeline_pb2.GetTimelinesRequest, raw)
        if len(batch.requests) > self._batch_reads_max:
            raise BadQuestion(f"{len(batch.requests)} requests: at most {self._batch_reads_max} are allowed")
        asked = [self._asked(number, request) for number, request in enumerate(batch.requests)]
        seats = [self._ownership.seat(request.user) for request in batch.requests]
        owners: defaultdict[int, list[int]] = defaultdict(list)
        for number, seat in enumerate(seats):
            owners[seat.owner].append(number)
        patience_s = self._patience(context)
        answers: list[bytes] = [b""] * len(seats)

        async def own(numbers: list[int]) -> None:
            share = pages.PAGE_BYTES_MAX // len(numbers)
            pages_of = (
                self._page(batch.requests[number], asked[number], seats[number], patience_s, share)
                for number in numbers
            )
            for number, answer in zip(numbers, await asyncio.gather(*pages_of), strict=True):
                answers[number] = answer

        async def others(owner: int, numbers: list[int]) -> None:
            self._forwarding.refuse_twice(owner, context)
            part = wire.repeated(_REQUESTS, (batch.requests[number].SerializeToString() for number in numbers))
            answer = await self._forwarding.unary(owner, "GetTimelines", part, context)
            for number, page in zip(numbers, wire.values(answer, _RESPONSES), strict=True):
                answers[number] = page

        await asyncio.gather(
            *(
                own(numbers) if owner == self._ownership.replica else others(owner, numbers)
                for owner, numbers in owners.items()
            )
        )
        return wire.repeated(_RESPONSES, answers)

    async def describe(self, raw: bytes, _: Context) -> bytes:
        request = _parsed(timeline_pb2.DescribeRequest, raw)
        return (await self._description.describe(with_hash=request.with_hash)).SerializeToString()

    async def subscribe(self, raw: bytes, context: Context) -> None:
        calls = self._calls["Subscribe"]

        async def write(message: bytes) -> None:
            await context.write(message)
            calls.sent.inc()

        async def call() -> None:
            request = _parsed(timeline_pb2.SubscribeRequest, raw)
            pages.check_user(request.user)
            pages.check_held(request.cursor, self._limits)
            floor, seat = pages.place_of(request.cursor), self._ownership.seat(request.user)
            if seat.owner != self._ownership.replica:
                self._forwarding.refuse_twice(seat.owner, context)

                async def relay() -> None:
                    async for message in self._forwarding.stream(seat.owner, "Subscribe", raw, context):
                        await write(message)

                return await self._subscriptions.run(Stream(), relay)
            self._check_loaded()
            await self._seen(request.cursor, seat)
            subscriber, held = Subscriber(), self._holdings[seat.partition]
            reader = reader_of(request.cursor, floor)
            return await self._subscriptions.run(
                subscriber, lambda: self._subscriptions.tell(subscriber, held, seat.user, reader, write)
            )

        await calls.run(context, call)

    async def _page(
        self,
        request: timeline_pb2.GetTimelineRequest,
        asked: pages.Question,
        seat: Seat,
        patience_s: float,
        bytes_max: int,
    ) -> bytes:
        self._check_loaded()
        stale = await self._stale(request.consistency, seat, patience_s, allowed=request.allow_stale)
        return pages.page(self._holdings[seat.partition], seat.user, asked, stale=stale, bytes_max=bytes_max)

    async def _stale(self, token: ConsistencyToken, seat: Seat, patience_s: float, *, allowed: bool) -> bool:
        try:
            if await self._consistency.reached(token, seat.partition, patience_s):
                return False
        except Away:  # Kafka cannot be asked
            if not allowed:
                raise
        if allowed:
            return True
        raise NotYet(
            f"the timeline does not reflect the token after {patience_s:.1f} s; wait longer, or set allow_stale",
            retry_after_ms=200,
        )

    async def _seen(self, cursor: timeline_pb2.Cursor, seat: Seat) -> None:
        """Waits until what the reader has seen is applied here."""
        for seen in cursor.seen:
            if seen.topic != DELIVERIES:
                raise BadQuestion(f"the cursor has seen {seen.topic!r}: cursors speak of {DELIVERIES}")
            # Of another partition: there were another number of them then. The difference is as exact without it.
            if seen.partition == seat.partition and not await self._consistency.catches_up(
                seat.partition, seen.offset, self._patience_s
            ):
                raise Away(
                    f"this replica has not applied what the cursor has seen after {self._patience_s} s; try again",
                    retry_after_ms=500,
                )

    def _asked(self, number: int, request: timeline_pb2.GetTimelineRequest) -> pages.Question:
        try:
            return pages.question(request, self._limits)
        except BadQuestion as error:
            raise BadQuestion(f"requests[{number}]: {error.detail}") from error

    def _check_loaded(self) -> None:
        if (reason := self._loading()) is not None:
            raise Away(reason, retry_after_ms=1_000)

    def _patience(self, context: Context) -> float:
        """A little less than the caller's, so that it gets an answer."""
        remaining = context.time_remaining()
        return self._patience_s if remaining is None else max(0.0, remaining - max(0.02, remaining / 10))


def _parsed(kind: type[Request], raw: bytes) -> Request:
    try:
        return kind.FromString(raw)
    except DecodeError as error:
        raise BadQuestion(f"not a {kind.DESCRIPTOR.full_name}") from error
