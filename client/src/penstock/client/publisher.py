"""The publisher for threads.

In:  events, from any thread. Out: a PendingReceipt each, settled by a sender in the background.
Guaranteed: what `publish` took in is acknowledged or fails with an error, and `close` says so.
`AsyncPublisher` is the same over the same outbox for asyncio.
"""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Self, Unpack

from penstock.client.batch import Batch
from penstock.client.channel import Security, TransportName, open_channel
from penstock.client.clocks import DeviceClocks, SystemClocks
from penstock.client.encoding import Extras, event_of
from penstock.client.errors import (
    BufferFullError,
    FlushTimeoutError,
    PenstockError,
    PublisherClosedError,
    UndeliveredError,
)
from penstock.client.estimate import ClockEstimate
from penstock.client.outbox import Outbox
from penstock.client.reading import Reading, reading_of
from penstock.client.receipt import Pending, Receipt
from penstock.client.sender import Sender, log_refused, now_us
from penstock.client.settings import PublisherSettings
from penstock.client.stats import Stats
from penstock.client.transport import transport_of
from penstock.events.v1.event_pb2 import Event


class PendingReceipt(Pending):
    """The receipt of an event under way, to be waited for like a concurrent.futures.Future."""

    __slots__ = ("_changed",)

    def __init__(self, batch: Batch, seq: int, changed: threading.Condition) -> None:
        self._batch, self.seq, self._changed = batch, seq, changed

    def result(self, timeout_s: float | None = None) -> Receipt:
        """Waits for the receipt; raises why there is none, or TimeoutError."""
        self._wait(timeout_s)
        return self._settled()

    def exception(self, timeout_s: float | None = None) -> PenstockError | None:
        """Waits until settled; why there is no receipt, or None if there is one."""
        self._wait(timeout_s)
        settlement = self._batch.settlement
        return settlement if isinstance(settlement, PenstockError) else None

    def add_done_callback(self, callback: Callable[[PendingReceipt], object]) -> None:
        """Calls back when settled, from a thread of the publisher, or at once if it is. Must not block."""
        with self._changed:
            if not self.done():
                self._batch.callbacks.append(partial(callback, self))
                return
        callback(self)

    def _wait(self, timeout_s: float | None) -> None:
        if self.done():
            return
        with self._changed:
            if not self._changed.wait_for(self.done, timeout_s):
                raise TimeoutError(f"event {self.seq} is still under way after {timeout_s:g} s")


class Publisher:
    """Publishes the events of one device. Safe to use from many threads.

    Opens with a clock exchange, so that the times of the first batch are already exact. Its `boot_id` is
    random: a publisher numbers its events from 1, so each is a boot of its own.
    """

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
        carrier = transport_of(transport, open_channel(server, security))
        self._sender = Sender(self._outbox, carrier, self._clocks, on_refused)
        self._closed = False

    def publish(
        self,
        event_type: str,
        /,
        attributes: Mapping[str, str] | None = None,
        data: bytes = b"",
        *,
        occurred: Reading | datetime | None = None,
        **extras: Unpack[Extras],
    ) -> PendingReceipt:
        """Takes an event in and returns at once, unless the buffer is full and the settings say to wait.

        `occurred` is now unless given: a Reading of both clocks, or a datetime for the wall clock only.
        Further: `id`, `content_type`, `traceparent`, `tracestate`.
        """
        if occurred is None:
            wall_us, steady_us = self._clocks.wall_us(), self._clocks.steady_us()
        else:
            wall_us, steady_us = reading_of(occurred)
        event = event_of(event_type, attributes, data, wall_us, steady_us, extras)
        return self._take(event)

    def _take(self, event: Event) -> PendingReceipt:
        sender, buffer = self._sender, self._outbox.buffer
        with sender.lock:
            if self._closed or sender.stopped is not None:
                raise sender.stopped or PublisherClosedError("the publisher is closed")
            batch = buffer.add(event, now_us()) or self._wait_for_room(event)
            if batch.count in buffer.urgent_counts:
                sender.work.notify()
        return PendingReceipt(batch, event.seq, sender.settled)

    def _wait_for_room(self, event: Event) -> Batch:
        """With the lock."""
        sender = self._sender
        if self._settings.when_full == "drop":
            return self._outbox.drop()
        if sender.calls_back_here():
            raise BufferFullError("the buffer is full, and a callback must not wait: it would hold up the sending")
        batch = sender.settled.wait_for(
            lambda: sender.stopped or self._outbox.buffer.add(event, now_us()), self._settings.block_timeout_s
        )
        if batch is None:
            raise BufferFullError.after(self._settings)
        if isinstance(batch, PublisherClosedError):
            raise batch
        return batch

    def flush(self, timeout_s: float | None = None) -> None:
        """Sends what is buffered without lingering, and returns when all of it is settled and called back.

        Raises FlushTimeoutError if that takes longer than `timeout_s`; sending goes on then.
        """
        sender, outbox = self._sender, self._outbox
        if sender.calls_back_here():
            raise RuntimeError("flush() in a callback of the publisher would wait for itself")
        with sender.lock:
            last = outbox.buffer.flush()
            sender.work.notify()
            if not sender.settled.wait_for(
                lambda: outbox.settled_through() >= last and not sender.calls_back(), timeout_s
            ):
                raise outbox.not_flushed(timeout_s)

    def close(self, timeout_s: float | None = None) -> None:
        """Flushes (for `close_timeout_s` unless told otherwise) and ends. A second close does nothing.

        Raises UndeliveredError if events of this publisher were given up, now or earlier.
        """
        if self._sender.calls_back_here():
            raise RuntimeError("close() in a callback of the publisher would wait for itself")
        with self._sender.lock:
            if self._closed:
                return
            self._closed = True
        try:
            self.flush(self._settings.close_timeout_s if timeout_s is None else timeout_s)
        except FlushTimeoutError as error:
            reason = f"the publisher was closed before the event was delivered: {error}"
        else:
            reason = "the publisher is closed"
        self._sender.stop(PublisherClosedError(reason))
        tally = self._outbox.tally
        if tally.first_error is not None:
            raise UndeliveredError(tally.failed, tally.first_error)

    @property
    def stats(self) -> Stats:
        """What was done so far."""
        with self._sender.lock:
            return self._outbox.tally.snapshot()

    @property
    def clock(self) -> ClockEstimate | None:
        """What the server thinks of this device's clock, as of the last answer; None before the first."""
        return self._outbox.clock

    @property
    def boot_id(self) -> str:
        """Names this publisher's run of numbers."""
        return self._outbox.boot_id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except UndeliveredError as undelivered:
            if error is None:
                raise
            error.add_note(str(undelivered))  # the first fault is the one to show
