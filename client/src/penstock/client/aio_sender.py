"""Drives an outbox over a transport, in a task: `sender.py` for asyncio, where no lock is needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from penstock.client.aio_transport import AioTransport
from penstock.client.attempt import Attempt, Reset, Send, Wait, Window
from penstock.client.batch import Batch
from penstock.client.clocks import DeviceClocks, read
from penstock.client.errors import PublisherClosedError
from penstock.client.outbox import Outbox
from penstock.client.receipt import Receipt
from penstock.client.retry import Failure
from penstock.client.sender import call_back, now_us
from penstock.ingest.v1.ingest_pb2 import PublishResponse

T = TypeVar("T")


class AioSender:
    """A task that does what the outbox says."""

    def __init__(
        self,
        outbox: Outbox,
        transport: AioTransport,
        clocks: DeviceClocks,
        on_refused: Callable[[Receipt], object],
    ) -> None:
        self.stopped: PublisherClosedError | None = None
        self.work = asyncio.Event()
        self._changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._outbox = outbox
        self._transport = transport
        self._clocks = clocks
        self._on_refused = on_refused
        self._task = asyncio.create_task(self._run(), name="penstock-sender")

    async def wait_for(self, predicate: Callable[[], T | None]) -> T:
        """What the predicate finds; it is asked again whenever something was settled."""
        while not (found := predicate()):
            await asyncio.shield(self._changed)
        return found

    async def stop(self, reason: PublisherClosedError) -> None:
        """Gives up what is left and ends the task."""
        self._abandon(reason)
        self._task.cancel()
        await asyncio.wait([self._task])
        await self._transport.close()

    def _abandon(self, reason: PublisherClosedError) -> None:
        self.stopped = self.stopped or reason
        self._settle(self._outbox.abandon(self.stopped))

    async def _run(self) -> None:
        try:
            while self.stopped is None:
                await self._step()
        except Exception as bug:
            self._abandon(PublisherClosedError(f"the sender failed: {bug!r}; this is a bug of penstock"))
            raise

    async def _step(self) -> None:
        self._settle(self._outbox.expire(now_us()))
        self.work.clear()
        step = self._outbox.next(now := now_us())
        if isinstance(step, Send):
            await self._transport.send(step.attempt, self)
        elif isinstance(step, Reset):
            self._transport.reset()
            self.broken(Failure.overdue(step.detail))
        else:
            await self._wait(step, now)

    async def _wait(self, step: Wait, now: int) -> None:
        if step.until_us is None:
            await self.work.wait()
            return
        delay_s = max(step.until_us - now, 0) / 1e6
        timer = asyncio.get_running_loop().call_later(delay_s, self.work.set)
        try:
            await self.work.wait()
        finally:
            timer.cancel()

    # Reports of the transport

    def request(self, attempt: Attempt) -> bytes | None:
        return self._outbox.request(attempt, read(self._clocks)) if self._outbox.under_way(attempt) else None

    def answered(self, attempt: Attempt, response: PublishResponse) -> None:
        self._settle(self._outbox.answered(attempt, response, now_us(), read(self._clocks)))

    def failed(self, attempt: Attempt, failure: Failure) -> None:
        self._settle(self._outbox.failed(attempt, failure, now_us()))

    def broken(self, failure: Failure) -> None:
        self._settle(self._outbox.broken(failure, now_us()))

    def opened(self, window: Window) -> None:
        self._outbox.open_window(window)
        self.work.set()

    def _settle(self, settled: list[Batch]) -> None:
        self.work.set()
        for batch in settled:
            call_back(batch, self._on_refused)
        if settled:
            self._changed.set_result(None)
            self._changed = asyncio.get_running_loop().create_future()
