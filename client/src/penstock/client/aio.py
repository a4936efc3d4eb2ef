"""The publisher for asyncio: `Publisher`, with `await` where that one blocks.

Not for use from other threads than its loop's.
"""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Callable, Generator, Mapping
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, Self, Unpack

from penstock.client.aio_sender import AioSender
from penstock.client.aio_transport import aio_transport_of, open_aio_channel
from penstock.client.batch import Batch
from penstock.client.channel import Security, TransportName
from penstock.client.clocks import DeviceClocks, SystemClocks
from penstock.client.encoding import Extras, event_of
from penstock.client.errors import (
    BufferFullError,
    FlushTimeoutError,
    PublisherClosedError,
    UndeliveredError,
)
from penstock.client.estimate import ClockEstimate
from penstock.client.outbox import Outbox
from penstock.client.reading import Reading, reading_of
from penstock.client.receipt import Pending, Receipt
from penstock.client.sender import log_refused, now_us
from penstock.client.settings import PublisherSettings
from penstock.client.stats import Stats
from penstock.events.v1.event_pb2 import Event


class AsyncPendingReceipt(Pending):
    """The receipt of an event under way; `await` it."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, Receipt]:
        if not self.done():
            settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.add_done_callback(lambda _: None if settled.done() else settled.set_result(None))
            yield from settled
        return self._settled()

    def add_done_callback(self, callback: Callable[[AsyncPendingReceipt], object]) -> None:
        """Calls back when settled, or at once if it is."""
        if self.done():
            callback(self)
        else:
            self._batch.callbacks.append(partial(callback, self))


class AsyncPublisher:
    """Publishes the events of one device. Make it where an event loop runs; everything as in Publisher."""

    def __init__(
        self,
        server: str,
        device_id: str,
        *,
        security: Security,
        settings: PublisherSettings | None = None,
        transport: TransportName = "unary",
        clocks: DeviceClocks | None = None,
        on_refused: Callable[[Receipt], object] = log_refused,
    ) -> None:
        self._settings = settings or PublisherSettings()
        self._clocks = clocks or SystemClocks()
        self._outbox = Outbox(device_id, uuid.uuid4().hex, self._settings, random.random)
        carrier = aio_transport_of(transport, open_aio_channel(server, security))
        self._sender = AioSender(self._outbox, carrier, self._clocks, on_refused)
        self._closed = False

    async def publish(
        self,
        event_type: str,
        /,
        attributes: Mapping[str, str] | None = None,
        data: bytes = b"",
        *,
        occurred: Reading | datetime | None = None,
        **extras: Unpack[Extras],
    ) -> AsyncPendingReceipt:
        """Takes an event in; waits only if the buffer is full and the settings say so. Await the result for
        the receipt."""
        if occurred is None:
            wall_us, steady_us = self._clocks.wall_us(), self._clocks.steady_us()
        else:
            wall_us, steady_us = reading_of(occurred)
        event = event_of(event_type, attributes, data, wall_us, steady_us, extras)
        sender, buffer = self._sender, self._outbox.buffer
        if self._closed or sender.stopped is not None:
            raise sender.stopped or PublisherClosedError("the publisher is closed")
        batch = buffer.add(event, now_us()) or await self._wait_for_room(event)
        if batch.count in buffer.urgent_counts:
            sender.work.set()
        return AsyncPendingReceipt(batch, event.seq)

    async def _wait_for_room(self, event: Event) -> Batch:
        if self._settings.when_full == "drop":
            return self._outbox.drop()
        sender = self._sender

        def find() -> PublisherClosedError | Batch | None:
            return sender.stopped or self._outbox.buffer.add(event, now_us())

        try:
            batch: PublisherClosedError | Batch = await asyncio.wait_for(
                sender.wait_for(find), self._settings.block_timeout_s
            )
        except TimeoutError as error:
            raise BufferFullError.after(self._settings) from error
        if isinstance(batch, PublisherClosedError):
            raise batch
        return batch

    async def flush(self, timeout_s: float | None = None) -> None:
        """Sends what is buffered without lingering, and returns when all of it is settled."""
        last = self._outbox.buffer.flush()
        self._sender.work.set()
        try:
            await asyncio.wait_for(self._sender.wait_for(lambda: self._outbox.settled_through() >= last), timeout_s)
        except TimeoutError as error:
            raise self._outbox.not_flushed(timeout_s) from error

    async def close(self, timeout_s: float | None = None) -> None:
        """Flushes and ends. Raises UndeliveredError if events were given up, now or earlier."""
        if self._closed:
            return
        self._closed = True
        try:
            await self.flush(self._settings.close_timeout_s if timeout_s is None else timeout_s)
        except FlushTimeoutError as error:
            reason = f"the publisher was closed before the event was delivered: {error}"
        else:
            reason = "the publisher is closed"
        await self._sender.stop(PublisherClosedError(reason))
        tally = self._outbox.tally
        if tally.first_error is not None:
            raise UndeliveredError(tally.failed, tally.first_error)

    @property
    def stats(self) -> Stats:
        """What was done so far."""
        return self._outbox.tally.snapshot()

    @property
    def clock(self) -> ClockEstimate | None:
        """What the server thinks of this device's clock, as of the last answer; None before the first."""
        return self._outbox.clock

    @property
    def boot_id(self) -> str:
        """Names this publisher's run of numbers."""
        return self._outbox.boot_id

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.close()
        except UndeliveredError as undelivered:
            if error is None:
                raise
            error.add_note(str(undelivered))
