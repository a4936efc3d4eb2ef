"""One PublishStream: batches in, answers out in the same order, never more under way than the window.

A batch that Kafka does not take ends the stream: the batches after it are answered as failed too, so that a client
which starts over from the failed one keeps its order. A drain or old age ends it after what is under way.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from google.protobuf.message import DecodeError
from penstock.ingest.v1 import ingest_pb2
from penstock.ingestion.clocks import Session
from penstock.ingestion.errors import BadRequest, LogUnavailable, RequestError
from penstock.ingestion.intake import Intake

Answer = Callable[[bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Window:
    batches: int
    bytes: int


@dataclass(frozen=True, slots=True)
class _UnderWay:
    batch_id: int
    size: int
    answer: asyncio.Task[ingest_pb2.PublishResponse]


class Stream:
    def __init__(self, intake: Intake, window: Window, traceparent: str) -> None:
        self._intake = intake
        self._window = window
        self._traceparent = traceparent
        self._session = Session()
        self._queue: asyncio.Queue[_UnderWay | None] = asyncio.Queue()
        self._batches = 0
        self._bytes = 0
        self._room = asyncio.Event()
        self._half_closed = False

    async def run(
        self, requests: AsyncIterator[bytes], answer: Answer, draining: asyncio.Event, *, age_max_s: float
    ) -> None:
        window = ingest_pb2.Window(batches=self._window.batches, bytes=self._window.bytes)
        await answer(ingest_pb2.PublishStreamResponse(window=window).SerializeToString())
        async with asyncio.TaskGroup() as tasks:
            reader = tasks.create_task(self._read(requests))
            ender = tasks.create_task(self._end(reader, draining, age_max_s))
            failure = await self._write(answer)
            reader.cancel()
            ender.cancel()
        if failure is not None:
            raise failure
        if not self._half_closed:
            raise LogUnavailable("the server ends this stream; open another and go on", retry_after_ms=1)

    async def _read(self, requests: AsyncIterator[bytes]) -> None:
        async for message in requests:
            while not self._has_room(len(message)):
                self._room.clear()
                await self._room.wait()
            self._begin(message)
        self._half_closed = True
        self._queue.put_nowait(None)

    async def _end(self, reader: asyncio.Task[None], draining: asyncio.Event, age_max_s: float) -> None:
        try:
            async with asyncio.timeout(age_max_s):
                await draining.wait()
        except TimeoutError:
            pass  # old age is the other reason to end
        reader.cancel()
        self._queue.put_nowait(None)

    async def _write(self, answer: Answer) -> RequestError | None:
        """Answers in order; returns the failure that ends the stream, or None at its end."""
        while (batch := await self._queue.get()) is not None:
            try:
                response = await batch.answer
            except RequestError as error:
                await answer(failed(batch.batch_id, error))
                if error.retry_after_ms is not None:
                    await self._fail_the_rest(answer, error)
                    return error
            else:
                await answer(answered(batch.batch_id, response))
            self._batches -= 1
            self._bytes -= batch.size
            self._room.set()
        return None

    async def _fail_the_rest(self, answer: Answer, error: RequestError) -> None:
        while not self._queue.empty():
            if (batch := self._queue.get_nowait()) is not None:
                batch.answer.cancel()
                await asyncio.wait([batch.answer])
                await answer(failed(batch.batch_id, error))

    def _has_room(self, size: int) -> bool:
        # One batch may always be under way, however large: otherwise it would wait for ever.
        fits = self._batches < self._window.batches and self._bytes + size <= self._window.bytes
        return fits or self._batches == 0

    def _begin(self, message: bytes) -> None:
        """Tasks start in the order they are made, and intake hands a batch to Kafka before it first waits."""
        batch_id, batch = split(message)
        publish = self._intake.publish(batch, deadline_s=None, traceparent=self._traceparent, session=self._session)
        self._batches += 1
        self._bytes += len(message)
        self._queue.put_nowait(_UnderWay(batch_id, len(message), asyncio.ensure_future(publish)))


def split(message: bytes) -> tuple[int, bytes]:
    """The batch's number and its own bytes, not decoded."""
    try:
        view = ingest_pb2.PublishStreamRequestView.FromString(message)
    except DecodeError as error:
        raise BadRequest("not a penstock.ingest.v1.PublishStreamRequest") from error
    return view.batch_id, view.batch


def answered(batch_id: int, response: ingest_pb2.PublishResponse) -> bytes:
    answer = ingest_pb2.BatchAnswer(batch_id=batch_id, response=response)
    return ingest_pb2.PublishStreamResponse(answer=answer).SerializeToString()


def failed(batch_id: int, error: RequestError) -> bytes:
    failure = ingest_pb2.BatchFailure(
        batch_id=batch_id,
        code=error.code.value[0],
        detail=error.detail,
        retry_after_us=(error.retry_after_ms or 0) * 1000,
    )
    return ingest_pb2.PublishStreamResponse(failure=failure).SerializeToString()
