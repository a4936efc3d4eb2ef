"""Carries attempts to the server for the publisher of asyncio: `transport.py`, with tasks for threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

import grpc
import grpc.aio
from penstock.client.address import host_and_port
from penstock.client.attempt import Attempt, Window
from penstock.client.channel import (
    CHANNEL_OPTIONS,
    PUBLISH,
    PUBLISH_STREAM,
    Security,
    TransportName,
    credentials_of,
    failure_of,
    failure_of_batch,
)
from penstock.client.encoding import stream_request
from penstock.client.retry import Failure
from penstock.client.transport import Reports
from penstock.ingest.v1.ingest_pb2 import PublishResponse, PublishStreamResponse


class AioTransport(Protocol):
    """What the sender needs of a transport."""

    async def send(self, attempt: Attempt, reports: Reports) -> None: ...

    def reset(self) -> None:
        """Ends what is under way without reporting it."""

    async def close(self) -> None: ...


def open_aio_channel(server: str, security: Security) -> grpc.aio.Channel:
    """A channel of the running loop; an address that is none fails at once."""
    host_and_port(server)
    credentials = credentials_of(security)
    if credentials is None:
        return grpc.aio.insecure_channel(server, options=CHANNEL_OPTIONS)
    return grpc.aio.secure_channel(server, credentials, options=CHANNEL_OPTIONS)


def aio_transport_of(name: TransportName, channel: grpc.aio.Channel) -> AioTransport:
    """By name; a wrong name is the caller's mistake."""
    transports: dict[str, Callable[[grpc.aio.Channel], AioTransport]] = {
        "unary": AioUnaryTransport,
        "stream": AioStreamTransport,
    }
    if name not in transports:
        raise ValueError(f"transport must be one of {', '.join(transports)}, not {name!r}")
    return transports[name](channel)


class AioUnaryTransport:
    """One call at a time."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self._publish: grpc.aio.UnaryUnaryMultiCallable[bytes, PublishResponse] = channel.unary_unary(
            PUBLISH, request_serializer=None, response_deserializer=PublishResponse.FromString
        )

    async def send(self, attempt: Attempt, reports: Reports) -> None:
        request = reports.request(attempt)
        if request is None:
            return
        try:
            response = await self._publish(request, timeout=attempt.timeout_s)
        except grpc.aio.AioRpcError as error:
            reports.failed(attempt, failure_of(error))
        else:
            reports.answered(attempt, response)

    def reset(self) -> None:
        """Nothing is under way when the sender could ask for this: calls have deadlines."""

    async def close(self) -> None:
        await self._channel.close()


class AioStreamTransport:
    """One stream at a time."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self._stream: _AioStream | None = None
        self._call: grpc.aio.StreamStreamMultiCallable[bytes, PublishStreamResponse] = channel.stream_stream(
            PUBLISH_STREAM, request_serializer=None, response_deserializer=PublishStreamResponse.FromString
        )

    async def send(self, attempt: Attempt, reports: Reports) -> None:
        if self._stream is None or self._stream.ended:
            self._stream = _AioStream(self._call(), reports)
        stream = self._stream
        try:
            await asyncio.wait_for(stream.opened.wait(), attempt.timeout_s)
        except TimeoutError:
            stream.cancel()
            reports.broken(Failure.overdue(f"the server opened no window within {attempt.timeout_s:g} s"))
            return
        request = reports.request(attempt)
        if request is not None:
            await stream.write(attempt, request)

    def reset(self) -> None:
        if self._stream is not None:
            self._stream.cancel()

    async def close(self) -> None:
        if self._stream is not None:
            self._stream.cancel()
        await self._channel.close()


class _AioStream:
    """One call of PublishStream and the task that reads its answers."""

    def __init__(self, call: grpc.aio.StreamStreamCall[Any, PublishStreamResponse], reports: Reports) -> None:
        self.ended = False
        self.opened = asyncio.Event()
        self._call = call
        self._reports = reports
        self._silent = False
        self._attempts: dict[int, Attempt] = {}
        self._reader = asyncio.create_task(self._read(), name="penstock-answers")

    async def write(self, attempt: Attempt, request: bytes) -> None:
        self._attempts[attempt.id] = attempt
        try:
            await self._call.write(stream_request(attempt.id, request))
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            # The stream ended; its reader learns of the same end, with the status, and reports it.
            await asyncio.wait([self._reader])

    def cancel(self) -> None:
        """Ends it at once; nothing more is reported."""
        self._silent = self.ended = True
        self._call.cancel()

    async def _read(self) -> None:
        try:
            async for response in self._call:
                self._handle(response)
            failure = Failure.disconnected("the server ended the stream")
        except grpc.aio.AioRpcError as error:
            failure = failure_of(error)
        except asyncio.CancelledError:  # by cancel(), which is silent
            failure = Failure.disconnected("the stream was cancelled")
        self.ended = True  # before the report: whoever hears of it opens another
        if not self._silent:
            self._reports.broken(failure)
        self.opened.set()

    def _handle(self, response: PublishStreamResponse) -> None:
        if response.HasField("window"):
            self._reports.opened(Window(max(response.window.batches, 1), response.window.bytes))
            self.opened.set()
        elif response.HasField("answer"):
            self._reports.answered(self._attempts.pop(response.answer.batch_id), response.answer.response)
        elif response.HasField("failure"):
            said = response.failure
            self._reports.failed(self._attempts.pop(said.batch_id), failure_of_batch(said))
