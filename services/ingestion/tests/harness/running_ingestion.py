"""An ingestion server inside the test's own event loop, on a real Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from penstock.embedded.ports import free_ports
from penstock.events.v1.event_pb2 import Event
from penstock.events.v1.raw_batch_pb2 import RawBatchView
from penstock.ingest.v1 import ingest_pb2_grpc
from penstock.ingest.v1.ingest_pb2 import PublishRequest
from penstock.ingestion.config import PREFIX, load
from penstock.ingestion.gate import Gate
from penstock.ingestion.intake import RAW
from penstock.ingestion.metrics import Metrics
from penstock.ingestion.server import serve
from penstock.pipeline import load as load_pipeline
from penstock.topics import TopicMap
from penstock.topics import load as load_topics
from penstock.topics.content import content
from prometheus_client import CollectorRegistry


@dataclass
class Running:
    address: str
    bootstrap: str
    topics: TopicMap
    registry: CollectorRegistry
    metrics: Metrics
    stop: asyncio.Event
    exit_code: asyncio.Task[int]

    def channel(self) -> grpc.aio.Channel:
        return grpc.aio.insecure_channel(self.address)

    def sample(self, name: str, **labels: str) -> float:
        self.metrics.flush()
        return self.registry.get_sample_value(name, labels) or 0.0

    def records(self, topic: str = RAW) -> list[bytes]:
        """Everything that the topic holds, committed."""
        name = self.topics.kafka_name(topic)
        return [message.value() or b"" for message in content({"bootstrap.servers": self.bootstrap}, name)]

    def events(self) -> list[Event]:
        """The events in the log: those that were not refused."""
        found = []
        for record in self.records():
            batch = RawBatchView.FromString(record)
            refused = set(batch.stamp.refused)
            found += [Event.FromString(raw) for index, raw in enumerate(batch.events) if index not in refused]
        return found


@asynccontextmanager
async def running(bootstrap: str, prefix: str, settings: Mapping[str, str] | None = None) -> AsyncIterator[Running]:
    """Serves until the block ends; `settings` are names without their prefix."""
    environment = {"TOPICS": "create", "DRAIN_WAIT_S": "0", "DRAIN_GRACE_S": "5", **(settings or {})}
    config = load(
        {PREFIX + name: value for name, value in environment.items()}
        | {"PENSTOCK_BOOTSTRAP": bootstrap, "PENSTOCK_TOPIC_PREFIX": prefix}
    )
    (port,) = free_ports(1)
    address, registry, stop = f"127.0.0.1:{port}", CollectorRegistry(), asyncio.Event()
    topics = load_topics().prefixed(prefix)
    gate = Gate(load_pipeline(), config.limits)
    metrics = Metrics(registry)
    task = asyncio.create_task(serve(config, gate, topics, metrics, address, stop))
    server = Running(address, bootstrap, topics, registry, metrics, stop, task)
    try:
        yield server
    finally:
        stop.set()
        await task


async def is_serving(server: Running, channel: grpc.aio.Channel | None = None) -> None:
    """Waits until health says SERVING."""
    async with channel or server.channel() as asked:
        watch = health_pb2_grpc.HealthStub(asked).Watch(
            health_pb2.HealthCheckRequest(service="penstock.ingest.v1.IngestService"), wait_for_ready=True, timeout=30
        )
        async for answer in watch:
            if answer.status == health_pb2.HealthCheckResponse.SERVING:
                return


def post(seq: int, **attributes: str) -> Event:
    return Event(type="post.created", seq=seq, attributes={"author": "ann", "post_id": f"p{seq}"} | attributes)


def batch(first: int, count: int, device_id: str = "device") -> PublishRequest:
    events = [post(seq) for seq in range(first, first + count)]
    return PublishRequest(device_id=device_id, boot_id="boot", events=events)


def stub(channel: grpc.aio.Channel) -> ingest_pb2_grpc.IngestServiceAsyncStub:
    return ingest_pb2_grpc.IngestServiceStub(channel)
