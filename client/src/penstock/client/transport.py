"""Carries attempts to the server for the publisher of threads.

In:  an attempt. Out: its end, reported from whichever thread learns of it.
`UnaryTransport` makes one call per attempt and returns when it has ended. `StreamTransport`
writes to one stream, opened when needed, and returns at once; a thread reads the answers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Protocol

import grpc
from penstock.client.attempt import Attempt, Window
from penstock.client.channel import PUBLISH, PUBLISH_STREAM, TransportName, failure_of, failure_of_batch
from penstock.client.encoding import stream_request
from penstock.client.retry import Failure
from penstock.ingest.v1.ingest_pb2 import PublishResponse, PublishStreamResponse

_FAREWELL_S = 1.0


class Reports(Protocol):
    """Who is told. Every method may be called from any thread."""

    def request(self, attempt: Attempt) -> bytes | None:
        """The request, sent now; None if the attempt was given up meanwhile."""

    def answered(self, attempt: Attempt, response: PublishResponse) -> None: ...

    def failed(self, attempt: Attempt, failure: Failure) -> None: ...

    def opened(self, window: Window) -> None: ...

    def broken(self, failure: Failure) -> None: ...


class Transport(Protocol):
    """What the sender needs of a transport."""

    def send(self, attempt: Attempt, reports: Reports) -> None: ...

    def reset(self) -> None:
        """Ends what is under way without reporting it."""

    def close(self) -> None: ...


def transport_of(name: TransportName, channel: grpc.Channel) -> Transport:
    """By name; a wrong name is the caller's mistake."""
    transports: dict[str, Callable[[grpc.Channel], Transport]] = {
        "unary": UnaryTransport,
        "stream": StreamTransport,
    }
    if name not in transports:
        raise ValueError(f"transport must be one of {', '.join(transports)}, not {name!r}")
    return transports[name](channel)


class UnaryTransport:
    """One call at a time."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel
        self._closed = False
        self._publish: grpc.UnaryUnaryMultiCallable[bytes, PublishResponse] = channel.unary_unary(
            PUBLISH, request_serializer=None, response_deserializer=PublishResponse.FromString
        )

    def send(self, attempt: Attempt, reports: Reports) -> None:
        request = reports.request(attempt)
        if request is None:
            return
        try:
            response = self._publish(request, timeout=attempt.timeout_s)
        except grpc.RpcError as error:
            reports.failed(attempt, failure_of(error))
        except ValueError:  # how grpc says that the channel is closed
            if not self._closed:
                raise
        else:
            reports.answered(attempt, response)

    def reset(self) -> None:
        """Nothing is under way when the sender could ask for this: calls have deadlines."""

    def close(self) -> None:
        self._closed = True
        self._channel.close()


class StreamTransport:
    """One stream at a time."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel
        self._stream: _Stream | None = None
        self._call: grpc.StreamStreamMultiCallable[bytes, PublishStreamResponse] = channel.stream_stream(
            PUBLISH_STREAM, request_serializer=None, response_deserializer=PublishStreamResponse.FromString
        )

    def send(self, attempt: Attempt, reports: Reports) -> None:
        if self._stream is None or self._stream.ended:
            self._stream = _Stream(self._call, reports)
        stream = self._stream
        if not stream.wait_opened(attempt.timeout_s):
            stream.cancel()
            reports.broken(Failure.overdue(f"the server opened no window within {attempt.timeout_s:g} s"))
            return
        request = reports.request(attempt)
        if request is not None:
            stream.write(attempt, request)

    def reset(self) -> None:
        if self._stream is not None:
            self._stream.cancel()

    def close(self) -> None:
        if self._stream is not None:
            self._stream.finish()
        self._channel.close()


class _Stream:
    """One call of PublishStream and the thread that reads its answers."""

    def __init__(self, call: grpc.StreamStreamMultiCallable[bytes, PublishStreamResponse], reports: Reports) -> None:
        self.ended = False
        self._reports = reports
        self._silent = False
        self._opened = threading.Event()
        self._attempts: dict[int, Attempt] = {}
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        self._call = call(iter(self._requests.get, None))
        self._reader = threading.Thread(target=self._read, name="penstock-answers", daemon=True)
        self._reader.start()

    def wait_opened(self, timeout_s: float) -> bool:
        """True when the server said how much may be under way, or the stream ended (and said so)."""
        return self._opened.wait(timeout_s)

    def write(self, attempt: Attempt, request: bytes) -> None:
        self._attempts[attempt.id] = attempt
        self._requests.put(stream_request(attempt.id, request))

    def cancel(self) -> None:
        """Ends it at once; nothing more is reported."""
        self._silent = self.ended = True
        self._call.cancel()

    def finish(self) -> None:
        """Tells the server that nothing more comes, and gives it a moment to say the same."""
        self._silent = True
        self._requests.put(None)
        if threading.current_thread() is not self._reader:
            self._reader.join(_FAREWELL_S)

    def _read(self) -> None:
        try:
            for response in self._call:
                self._handle(response)
            failure = Failure.disconnected("the server ended the stream")
        except grpc.RpcError as error:
            failure = failure_of(error)
        self.ended = True  # before the report: whoever hears of it opens another
        self._requests.put(None)
        if not self._silent:
            self._reports.broken(failure)
        self._opened.set()

    def _handle(self, response: PublishStreamResponse) -> None:
        if response.HasField("window"):
            self._reports.opened(Window(max(response.window.batches, 1), response.window.bytes))
            self._opened.set()
        elif response.HasField("answer"):
            attempt = self._attempts.pop(response.answer.batch_id)
            self._reports.answered(attempt, response.answer.response)
        elif response.HasField("failure"):
            said = response.failure
            self._reports.failed(self._attempts.pop(said.batch_id), failure_of_batch(said))
