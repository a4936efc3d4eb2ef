"""Ingestion as the devices reach it: gRPC calls on a few connections that all devices share.

In:  requests. Out: answers, or failures as our client states them; how long each call took, in the tally.
What the demo itself has to publish goes through our client.
"""

import time
from types import TracebackType
from typing import Self

import grpc
from penstock.client import AsyncPublisher, Plaintext, PublisherSettings
from penstock.client.channel import CHANNEL_OPTIONS, PUBLISH, failure_of
from penstock.client.retry import Failure
from penstock.demo.population import own_device
from penstock.demo.tally import Tally
from penstock.ingest.v1.ingest_pb2 import PublishRequest, PublishResponse

CALL_TIMEOUT_S = 15.0
_DEVICES_PER_CONNECTION = 100
_CONNECTIONS_MAX = 8


class Ingestion:
    """Use as an asynchronous context manager, inside of an event loop."""

    def __init__(self, address: str, devices: int, tally: Tally) -> None:
        # Channels to one address share a connection, unless each has a pool of its own.
        options = [*CHANNEL_OPTIONS, ("grpc.use_local_subchannel_pool", 1)]
        connections = min(_CONNECTIONS_MAX, 1 + devices // _DEVICES_PER_CONNECTION)
        self._channels = [grpc.aio.insecure_channel(address, options=options) for _ in range(connections)]
        self._calls = [
            channel.unary_unary(
                PUBLISH,
                request_serializer=PublishRequest.SerializeToString,
                response_deserializer=PublishResponse.FromString,
            )
            for channel in self._channels
        ]
        self._next = 0
        self._tally = tally

    async def publish(self, request: PublishRequest) -> PublishResponse | Failure:
        self._next = (self._next + 1) % len(self._calls)
        began = time.perf_counter_ns()
        try:
            answer: PublishResponse = await self._calls[self._next](request, timeout=CALL_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            return failure_of(error)
        self._tally.latency_us.add((time.perf_counter_ns() - began) // 1000)
        return answer

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for channel in self._channels:
            await channel.close()


def own_publisher(address: str, purpose: str) -> AsyncPublisher:
    """For events of the demo itself, each sent at once."""
    settings = PublisherSettings(linger_s=0)
    return AsyncPublisher(address, own_device(purpose), security=Plaintext(), settings=settings)
