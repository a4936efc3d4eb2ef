"""gRPC in, intake, gRPC out. Takes requests as bytes: grpcio would answer a malformed one with INTERNAL.

Guaranteed: an answer OK only after intake said so; failures carry google.rpc.RetryInfo and grpc-retry-pushback-ms
where trying again helps; no text of an exception of ours reaches a client.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NoReturn, TypeAlias, TypeVar

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2
from penstock.ingestion.errors import RequestError
from penstock.ingestion.intake import Intake
from penstock.ingestion.metrics import Metrics
from penstock.ingestion.stream import Stream, Window

logger = logging.getLogger(__name__)

SERVICE = "penstock.ingest.v1.IngestService"
# Every code that a call can end with here.
ANSWERS = (
    grpc.StatusCode.OK,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.INTERNAL,
    *(error.code for error in RequestError.__subclasses__()),
)
T = TypeVar("T")
Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"


class IngestServicer:
    def __init__(self, intake: Intake, metrics: Metrics, window: Window, stream_age_max_s: float) -> None:
        self._intake = intake
        self._window = window
        self._stream_age_max_s = stream_age_max_s
        self._draining = asyncio.Event()
        self._calls = {
            "Publish": Calls(metrics, "unary", "Publish"),
            "PublishStream": Calls(metrics, "bidi_stream", "PublishStream"),
        }

    def drain(self) -> None:
        """Ends the streams after what they have under way; unary calls end by themselves."""
        self._draining.set()

    def handler(self) -> grpc.GenericRpcHandler:
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "Publish": grpc.unary_unary_rpc_method_handler(self.publish),
                "PublishStream": grpc.stream_stream_rpc_method_handler(self.publish_stream),
            },
        )

    async def publish(self, request: bytes, context: Context) -> bytes:
        async def call() -> bytes:
            response = await self._intake.publish(
                request, deadline_s=context.time_remaining(), traceparent=traceparent(context)
            )
            return response.SerializeToString()

        return await self._observed("Publish", context, call)

    async def publish_stream(self, requests: AsyncIterator[bytes], context: Context) -> None:
        received, sent = self._calls["PublishStream"].received, self._calls["PublishStream"].sent

        async def answer(message: bytes) -> None:
            await context.write(message)
            sent.inc()

        async def counted() -> AsyncIterator[bytes]:
            async for request in requests:
                received.inc()
                yield request

        async def call() -> None:
            stream = Stream(self._intake, self._window, traceparent(context))
            await stream.run(counted(), answer, self._draining, age_max_s=self._stream_age_max_s)

        await self._observed("PublishStream", context, call)

    async def _observed(self, method: str, context: Context, call: Callable[[], Awaitable[T]]) -> T:
        calls = self._calls[method]
        calls.started.inc()
        began = time.monotonic()
        code = grpc.StatusCode.INTERNAL
        try:
            result = await call()
            code = grpc.StatusCode.OK
            return result
        except RequestError as error:
            code = error.code
            await abort(context, error)
        except asyncio.CancelledError:
            code = grpc.StatusCode.CANCELLED
            raise
        except Exception:
            # A bug. The client learns that it is ours, the log learns which; the next request may well work.
            logger.exception("%s failed", method)
            await context.abort(grpc.StatusCode.INTERNAL, "internal error of ingestion; its log says more")
        finally:
            calls.ended(code, time.monotonic() - began)


class Calls:
    """The metrics of one method, with their labels looked up once."""

    def __init__(self, metrics: Metrics, kind: str, method: str) -> None:
        labels = (kind, SERVICE, method)
        self.started = metrics.pooled(metrics.rpcs_started.labels(*labels))
        self.received = metrics.pooled(metrics.messages_received.labels(*labels))
        self.sent = metrics.pooled(metrics.messages_sent.labels(*labels))
        self._seconds = metrics.pooled_seconds(metrics.rpc_seconds.labels(*labels))
        self._handled = {code: metrics.pooled(metrics.rpcs_handled.labels(*labels, code.name)) for code in ANSWERS}

    def ended(self, code: grpc.StatusCode, seconds: float) -> None:
        self._handled[code].inc()
        self._seconds.observe(seconds)


def traceparent(context: Context) -> str:
    for name, value in context.invocation_metadata() or ():
        if name == "traceparent" and isinstance(value, str) and len(value) <= 64:
            return value
    return ""


async def abort(context: Context, error: RequestError) -> NoReturn:
    if error.retry_after_ms is None:
        await context.abort(error.code, error.detail)
    wait = Duration(seconds=error.retry_after_ms // 1000, nanos=error.retry_after_ms % 1000 * 1_000_000)
    detail = AnyMessage()
    detail.Pack(error_details_pb2.RetryInfo(retry_delay=wait))
    status = status_pb2.Status(code=error.code.value[0], message=error.detail, details=[detail])
    metadata = (
        ("grpc-status-details-bin", status.SerializeToString()),
        ("grpc-retry-pushback-ms", str(error.retry_after_ms)),
    )
    await context.abort(error.code, error.detail, metadata)
