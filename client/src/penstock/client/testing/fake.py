"""An ingestion service in memory, reachable over gRPC, that fails on demand.

In:  requests, and instructions from a test (`fail_next`, `lose_replies`, `hold`).
Out: answers as the real service would give them; `requests` as they came, `log` of accepted identities.
It refuses types it was not told of, knows duplicates for ever, and hands out clock tokens that
say which request they answered, so that a test can check the echo.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn, Self

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2
from penstock.events.v1.event_pb2 import CLOCK_DOMAIN_STEADY, CLOCK_METHOD_ECHO, CLOCK_METHOD_NAIVE, Event
from penstock.events.v1.raw_batch_pb2 import REFUSAL_REASON_DUPLICATE, REFUSAL_REASON_UNKNOWN_TYPE
from penstock.ingest.v1 import ingest_pb2_grpc
from penstock.ingest.v1.ingest_pb2 import (
    BatchAnswer,
    BatchFailure,
    ClockEstimate,
    PublishRequest,
    PublishResponse,
    PublishStreamRequest,
    PublishStreamResponse,
    Refusal,
    Window,
)

_WORKERS = 8


@dataclass(frozen=True, slots=True)
class _Fault:
    code: grpc.StatusCode
    detail: str
    retry_after_ms: int | None
    pushback: str | None
    taken: bool
    """The batch is taken all the same: its reply is lost."""


class FakeIngest:
    """Use it as a context manager; `address` is where it listens."""

    def __init__(
        self,
        types: frozenset[str] | None = None,
        window_batches: int = 4,
        credentials: grpc.ServerCredentials | None = None,
    ) -> None:
        self.requests: list[PublishRequest] = []
        self.log: list[tuple[str, str, int]] = []
        self.streams = 0
        self._types = types
        self._window = Window(batches=window_batches, bytes=4 << 20)
        self._faults: deque[_Fault] = deque()
        self._lock = threading.Lock()
        self._open = threading.Event()
        self._open.set()
        self._server = grpc.server(futures.ThreadPoolExecutor(_WORKERS))
        ingest_pb2_grpc.add_IngestServiceServicer_to_server(_Servicer(self), self._server)
        listen = "localhost:0" if credentials else "127.0.0.1:0"
        port = (
            self._server.add_secure_port(listen, credentials) if credentials else self._server.add_insecure_port(listen)
        )
        self.address = f"{listen.partition(':')[0]}:{port}"

    # What a test may ask for

    def fail_next(
        self,
        code: grpc.StatusCode,
        detail: str = "as the test wanted",
        *,
        times: int = 1,
        retry_after_ms: int | None = None,
        pushback: str | None = None,
    ) -> None:
        """The next batches with events are not taken."""
        self._faults.extend([_Fault(code, detail, retry_after_ms, pushback, taken=False)] * times)

    def lose_replies(self, times: int = 1) -> None:
        """The next batches with events are taken, but the client does not learn of it."""
        self._faults.extend([_Fault(grpc.StatusCode.UNAVAILABLE, "reply lost", 1, None, taken=True)] * times)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Answers nothing meanwhile."""
        self._open.clear()
        try:
            yield
        finally:
            self._open.set()

    def identities(self, device_id: str) -> list[tuple[str, int]]:
        """(boot_id, seq) of the device's accepted events, in the order of the log."""
        return [(boot_id, seq) for device, boot_id, seq in self.log if device == device_id]

    @property
    def batches(self) -> list[PublishRequest]:
        """The requests that had events."""
        return [request for request in self.requests if request.events]

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.set()
        self._server.stop(grace=0).wait()

    # What the servicer does

    def take(self, request: PublishRequest) -> PublishResponse | _Fault:
        """The answer to a batch, or why there is none."""
        self._open.wait()
        with self._lock:
            self.requests.append(request)
            fault = self._faults.popleft() if request.events and self._faults else None
            if fault is not None and not fault.taken:
                return fault
            response = self._answer(request)
            return fault or response

    def _answer(self, request: PublishRequest) -> PublishResponse:
        response = PublishResponse(clock_token=f"token-{len(self.requests)}".encode())
        response.clock.CopyFrom(
            ClockEstimate(
                method=CLOCK_METHOD_ECHO if request.clock_token else CLOCK_METHOD_NAIVE, domain=CLOCK_DOMAIN_STEADY
            )
        )
        for index, event in enumerate(request.events):
            refusal = self._refusal(request, index, event)
            if refusal is None:
                self.log.append((request.device_id, request.boot_id, event.seq))
                response.accepted += 1
            else:
                response.refusals.append(refusal)
        if response.accepted:
            response.consistency.positions.add(topic="events.raw.v1", partition=0, offset=len(self.requests))
        return response

    def _refusal(self, request: PublishRequest, index: int, event: Event) -> Refusal | None:
        if (request.device_id, request.boot_id, event.seq) in self.log:
            return Refusal(index=index, reason=REFUSAL_REASON_DUPLICATE, detail="accepted before")
        if self._types is not None and event.type not in self._types:
            detail = f"type {event.type!r} is not declared"
            return Refusal(index=index, reason=REFUSAL_REASON_UNKNOWN_TYPE, detail=detail)
        return None


class _Servicer(ingest_pb2_grpc.IngestServiceServicer):
    def __init__(self, fake: FakeIngest) -> None:
        self._fake = fake

    def Publish(self, request: PublishRequest, context: grpc.ServicerContext) -> PublishResponse:  # noqa: N802 (gRPC's)
        answer = self._fake.take(request)
        return _abort(context, answer) if isinstance(answer, _Fault) else answer

    def PublishStream(  # noqa: N802 (gRPC's)
        self, request_iterator: Iterator[PublishStreamRequest], context: grpc.ServicerContext
    ) -> Iterator[PublishStreamResponse]:
        self._fake.streams += 1
        yield PublishStreamResponse(window=self._fake._window)
        for request in request_iterator:
            answer = self._fake.take(request.batch)
            if isinstance(answer, PublishResponse):
                taken = BatchAnswer(batch_id=request.batch_id, response=answer)
                yield PublishStreamResponse(answer=taken)
            elif answer.taken:
                _abort(context, answer)
            else:
                yield PublishStreamResponse(failure=_batch_failure(request.batch_id, answer))


def _batch_failure(batch_id: int, fault: _Fault) -> BatchFailure:
    retry_after_us = (fault.retry_after_ms or 0) * 1000
    return BatchFailure(batch_id=batch_id, code=fault.code.value[0], detail=fault.detail, retry_after_us=retry_after_us)


def _abort(context: grpc.ServicerContext, fault: _Fault) -> NoReturn:
    metadata: list[tuple[str, str | bytes]] = []
    if fault.pushback is not None:
        metadata.append(("grpc-retry-pushback-ms", fault.pushback))
    if fault.retry_after_ms is not None:
        delay = duration_pb2.Duration()
        delay.FromMilliseconds(fault.retry_after_ms)
        detail = any_pb2.Any()
        detail.Pack(error_details_pb2.RetryInfo(retry_delay=delay))
        status = status_pb2.Status(code=fault.code.value[0], message=fault.detail, details=[detail])
        metadata.append(("grpc-status-details-bin", status.SerializeToString()))
    context.set_trailing_metadata(tuple(metadata))
    context.abort(fault.code, fault.detail)
