"""gRPC in, intake, gRPC out. Takes requests as bytes: grpcio would answer a malformed one with INTERNAL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TypeAlias

import grpc
from penstock.ingestion.intake import Intake
from penstock.ingestion.metrics import Metrics
from penstock.ingestion.stream import Stream, Window
from penstock.serving.calls import Calls, traceparent

SERVICE = "penstock.ingest.v1.IngestService"
Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"


class IngestServicer:
    def __init__(self, intake: Intake, metrics: Metrics, window: Window, stream_age_max_s: float) -> None:
        self._intake = intake
        self._window = window
        self._stream_age_max_s = stream_age_max_s
        self._draining = asyncio.Event()
        self._publish = Calls(metrics.calls, "unary", SERVICE, "Publish")
        self._publish_stream = Calls(metrics.calls, "bidi_stream", SERVICE, "PublishStream")

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

        return await self._publish.run(context, call)

    async def publish_stream(self, requests: AsyncIterator[bytes], context: Context) -> None:
        received, sent = self._publish_stream.received, self._publish_stream.sent

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

        await self._publish_stream.run(context, call)
