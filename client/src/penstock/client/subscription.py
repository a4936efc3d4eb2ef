"""A timeline as it changes, for as long as somebody wants to know.

In:  a way to call Subscribe, whose timeline, a cursor.
Out: changes, one after the other. A connection that is lost is made again, from the cursor of the last change that was
     handed out: nothing is missing and nothing comes twice, however often that happens.
Raises what trying again does not change. For one thread; `close` may be called from any.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

import grpc
from penstock.client.change import Change, change_of
from penstock.client.channel import failure_of
from penstock.client.cursor import Cursor, to_wire
from penstock.client.errors import TimelinesError
from penstock.client.retry import Backoff, Failure, may_retry
from penstock.timeline.v1.timeline_pb2 import SubscribeRequest, SubscribeResponse

BACKOFF = Backoff(initial_us=100_000, max_us=5_000_000)
_log = logging.getLogger("penstock.client")


@dataclass(frozen=True, slots=True)
class Disconnection:
    """A connection that was lost and will be made again."""

    error: TimelinesError
    attempts: int
    """That failed in a row, this one included."""
    pause_s: float
    """Until the next one."""


def log_disconnected(lost: Disconnection) -> None:
    """What happens unless the caller wants to know: it is normal, servers are replaced and connections grow old."""
    _log.info("subscription: %s; next attempt in %.1f s", lost.error, lost.pause_s)


class ChangeStream(Protocol):
    """One call of Subscribe."""

    def __next__(self) -> SubscribeResponse: ...

    def cancel(self) -> object: ...


class Subscription(Iterator[Change]):
    """Iterate over it; leave its `with` block or call `close` to end it."""

    def __init__(
        self,
        call: Callable[[SubscribeRequest], ChangeStream],
        user: str,
        cursor: Cursor | None,
        *,
        error_of: Callable[[Failure], TimelinesError],
        on_disconnected: Callable[[Disconnection], object] = log_disconnected,
        backoff: Backoff = BACKOFF,
    ) -> None:
        self._call, self._user, self._cursor = call, user, cursor
        self._error_of, self._on_disconnected, self._backoff = error_of, on_disconnected, backoff
        self._stream: ChangeStream | None = None
        self._attempts = 0
        self._lock = threading.Lock()
        self._closed = threading.Event()

    @property
    def cursor(self) -> Cursor | None:
        """Of the last change that was handed out; at first the one that the subscription began with."""
        return self._cursor

    def __next__(self) -> Change:
        while (stream := self._connected()) is not None:
            try:
                response = next(stream)
            except StopIteration:
                self._lost(Failure.disconnected("the server ended the subscription"))
            except grpc.RpcError as error:
                self._lost(failure_of(error), error)
            else:
                return self._taken(response)
        raise StopIteration

    def close(self) -> None:
        """Ends it: whoever waits for a change is told that there is none. A second close does nothing."""
        with self._lock:
            self._closed.set()
            stream, self._stream = self._stream, None
        if stream is not None:
            stream.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _connected(self) -> ChangeStream | None:
        """The call under way, or a new one; None when closed."""
        with self._lock:
            if self._closed.is_set():
                return None
            if self._stream is None:
                cursor = None if self._cursor is None else to_wire(self._cursor)
                self._stream = self._call(SubscribeRequest(user=self._user, cursor=cursor))
            return self._stream

    def _taken(self, response: SubscribeResponse) -> Change:
        try:
            change = change_of(response)
        except ValueError as error:
            self.close()
            raise self._error_of(Failure.unknown(str(error))) from error
        self._attempts = 0
        self._cursor = change.cursor
        return change

    def _lost(self, failure: Failure, cause: grpc.RpcError | None = None) -> None:
        """Waits until the next attempt is due, or raises."""
        with self._lock:
            self._stream = None
            if self._closed.is_set():
                return
        error = self._error_of(failure)
        if not may_retry(failure):
            self.close()
            raise error from cause
        self._attempts += 1
        pause_s = self._backoff.pause_us(self._attempts, failure.retry_after_us, random.random()) / 1e6
        self._on_disconnected(Disconnection(error, self._attempts, pause_s))
        self._closed.wait(pause_s)
