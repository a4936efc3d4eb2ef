"""Drives an outbox over a transport, in a thread of its own.

In:  a lock that guards the outbox; the outbox; a transport.
Out: events settled, their waiters woken, their callbacks run (in this thread or the transport's).
A bug here must not leave anybody waiting: it gives up everything with an error and shows itself.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial

from penstock.client.attempt import Attempt, Reset, Send, Step, Wait, Window
from penstock.client.batch import Batch
from penstock.client.clocks import DeviceClocks, read
from penstock.client.errors import PublisherClosedError
from penstock.client.outbox import Outbox
from penstock.client.receipt import Receipt, refused_receipts
from penstock.client.retry import Failure
from penstock.client.transport import Transport
from penstock.ingest.v1.ingest_pb2 import PublishResponse

log = logging.getLogger("penstock.client")


def now_us() -> int:
    """The time by which the outbox lives."""
    return time.monotonic_ns() // 1000


class Sender:
    """A thread that does what the outbox says."""

    def __init__(
        self,
        outbox: Outbox,
        transport: Transport,
        clocks: DeviceClocks,
        on_refused: Callable[[Receipt], object],
    ) -> None:
        self.lock = lock = threading.Lock()
        self.work = threading.Condition(lock)
        self.settled = threading.Condition(lock)
        self.stopped: PublisherClosedError | None = None
        self._callback_threads: list[int] = []
        self._outbox = outbox
        self._transport = transport
        self._clocks = clocks
        self._on_refused = on_refused
        self._thread = threading.Thread(target=self._run, name="penstock-sender", daemon=True)
        self._thread.start()

    def calls_back(self) -> bool:
        """Callbacks are running. Only with the lock."""
        return bool(self._callback_threads)

    def calls_back_here(self) -> bool:
        """The caller is a callback: it must not wait for what only the caller's thread can bring about."""
        return threading.get_ident() in self._callback_threads

    def stop(self, reason: PublisherClosedError) -> None:
        """Gives up what is left and ends the thread."""
        self._apply(lambda: self._abandon(reason))
        self._transport.close()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _abandon(self, reason: PublisherClosedError) -> list[Batch]:
        self.stopped = self.stopped or reason
        return self._outbox.abandon(self.stopped)

    def _run(self) -> None:
        try:
            while (step := self._next_step()) is not None:
                self._do(step)
        except BaseException as bug:
            reason = PublisherClosedError(f"the sender failed: {bug!r}; this is a bug of penstock")
            self._apply(lambda: self._abandon(reason))
            raise

    def _next_step(self) -> Step | None:
        """The next step other than waiting; None when stopped."""
        while True:
            self._apply(lambda: self._outbox.expire(now_us()))
            with self.lock:
                if self.stopped is not None:
                    return None
                step = self._outbox.next(now := now_us())
                if not isinstance(step, Wait):
                    return step
                self.work.wait(None if step.until_us is None else max(step.until_us - now, 0) / 1e6)

    def _do(self, step: Step) -> None:
        if isinstance(step, Send):
            self._transport.send(step.attempt, self)
        elif isinstance(step, Reset):
            self._transport.reset()
            self.broken(Failure.overdue(step.detail))

    # Reports of the transport

    def request(self, attempt: Attempt) -> bytes | None:
        with self.lock:
            return self._outbox.request(attempt, read(self._clocks)) if self._outbox.under_way(attempt) else None

    def answered(self, attempt: Attempt, response: PublishResponse) -> None:
        arrived = read(self._clocks)
        self._apply(lambda: self._outbox.answered(attempt, response, now_us(), arrived))

    def failed(self, attempt: Attempt, failure: Failure) -> None:
        self._apply(lambda: self._outbox.failed(attempt, failure, now_us()))

    def broken(self, failure: Failure) -> None:
        self._apply(lambda: self._outbox.broken(failure, now_us()))

    def opened(self, window: Window) -> None:
        with self.lock:
            self._outbox.open_window(window)
            self.work.notify()

    def _apply(self, change: Callable[[], list[Batch]]) -> None:
        """Changes the outbox, wakes who waits for it, and runs the callbacks of what was settled."""
        with self.lock:
            settled = change()
            self.work.notify()
            self.settled.notify_all()
            self._callback_threads.append(threading.get_ident())
        try:
            for batch in settled:
                call_back(batch, self._on_refused)
        finally:
            with self.lock:
                self._callback_threads.remove(threading.get_ident())
                self.settled.notify_all()


def call_back(batch: Batch, on_refused: Callable[[Receipt], object]) -> None:
    """Tells who wants to know that a batch is settled. A callback that raises is logged, and sending goes on."""
    calls: list[Callable[[], object]] = [partial(on_refused, receipt) for receipt in refused_receipts(batch)]
    for call in [*calls, *batch.callbacks]:
        try:
            call()
        except Exception:
            log.exception("a callback of the publisher raised")


def log_refused(receipt: Receipt) -> None:
    """What happens to refused events unless the caller says otherwise."""
    log.warning("event %d was refused: %s: %s", receipt.seq, receipt.reason_name, receipt.detail)
