"""Ingestion and enrichment beside a captured database: what goes in by SQL and gRPC, what comes out on topics."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
from penstock.client import Plaintext, Publisher, PublisherSettings
from penstock.embedded.captures import Captures
from penstock.embedded.services import Service, start_enrichment, start_ingestion
from penstock.embedded.supervisor import Supervisor
from penstock.enrich.v1.enrich_pb2 import (
    BatchLookupRequest,
    DescribeRequest,
    LookupRequest,
    LookupResponse,
    TableDescription,
)
from penstock.enrich.v1.enrich_pb2_grpc import EnrichmentServiceStub
from penstock.events.v1.event_pb2 import ENRICHMENT_STATUS_MATCHED, Event
from penstock.tables.v1.row_change_pb2 import RowChange
from penstock.topics import load
from penstock.topics.content import content

PATIENCE_S = 180.0
ANSWER_TIMEOUT_S = 30.0
PATIENT = PublisherSettings(linger_s=0.005, delivery_timeout_s=PATIENCE_S)


def until(met: Callable[[], bool], missing: Callable[[], object] = lambda: "it did not become so") -> None:
    """Asks again until it is so; says what was missing if it never is."""
    deadline = time.monotonic() + PATIENCE_S
    while not met():
        assert time.monotonic() < deadline, missing()
        time.sleep(0.1)


class WallOnly:
    """A device without a steady clock, so that events may carry times of their own."""

    def wall_us(self) -> int:
        return time.time_ns() // 1000

    def steady_us(self) -> int | None:
        return None


@dataclass(frozen=True)
class EnrichmentLog:
    """What enrichment wrote, as any consumer reads it."""

    bootstrap: str
    prefix: str

    def events(self) -> list[Event]:
        name = load().prefixed(self.prefix).kafka_name("events.enriched.v1")
        return [Event.FromString(value) for value in self._values(name)]

    def changes(self, table: str) -> list[RowChange]:
        return [RowChange.FromString(value) for value in self._values(f"{self.prefix}tables.{table}.v1")]

    def _values(self, topic: str) -> Iterator[bytes]:
        return (message.value() or b"" for message in content({"bootstrap.servers": self.bootstrap}, topic))


@dataclass(frozen=True)
class EnrichmentStack:
    cdc: Captures
    log: EnrichmentLog
    ingestion: Service
    enrichment: Service
    supervisor: Supervisor

    def sql(self, *statements: str) -> None:
        """In one transaction."""
        with self.cdc.postgres.connect() as connection, connection.transaction():
            for statement in statements:
                connection.execute(statement.encode())

    def select(self, statement: str) -> list[tuple[object, ...]]:
        with self.cdc.postgres.connect() as connection:
            return connection.execute(statement.encode()).fetchall()

    def publisher(self, device_id: str) -> Publisher:
        address = self.ingestion.address
        return Publisher(address, device_id, security=Plaintext(), clocks=WallOnly(), settings=PATIENT)

    def lookup(self, table: str, key: str) -> LookupResponse:
        return self.lookups(table, [key])[0]

    def lookups(self, table: str, keys: Sequence[str]) -> Sequence[LookupResponse]:
        request = BatchLookupRequest(lookups=[LookupRequest(table=table, key=key) for key in keys])
        with grpc.insecure_channel(self.enrichment.address) as channel:
            return EnrichmentServiceStub(channel).BatchLookup(request, timeout=ANSWER_TIMEOUT_S).responses

    def rows(self, table: str, keys: Iterable[str]) -> dict[str, dict[str, str]]:
        """Those of the keys that are rows now, with their columns."""
        asked = list(keys)
        found = zip(asked, self.lookups(table, asked), strict=True)
        return {key: dict(one.columns) for key, one in found if one.status == ENRICHMENT_STATUS_MATCHED}

    def describe(self, table: str) -> TableDescription:
        with grpc.insecure_channel(self.enrichment.address) as channel:
            stub = EnrichmentServiceStub(channel)
            return stub.Describe(DescribeRequest(table=table), timeout=ANSWER_TIMEOUT_S).tables[0]


@contextmanager
def running(
    cdc: Captures, prefix: str, pipeline: str, folder: Path, settings: Mapping[str, str] | None = None
) -> Iterator[EnrichmentStack]:
    """Both services with this pipeline.yaml, on the topics below `prefix`."""
    path = folder / "pipeline.yaml"
    path.write_text(pipeline)
    environment = {"PENSTOCK_TOPIC_PREFIX": prefix, "PENSTOCK_PIPELINE": str(path)}
    quick = {"PENSTOCK_ENRICHMENT_DRAIN_GRACE_S": "3", **(settings or {})}
    bootstrap = cdc.kafka.bootstrap
    with Supervisor(folder / "stack") as supervisor:
        ingestion = start_ingestion(supervisor, bootstrap, environment=environment)
        enrichment = start_enrichment(supervisor, bootstrap, environment=environment | quick)
        yield EnrichmentStack(cdc, EnrichmentLog(bootstrap, prefix), ingestion, enrichment, supervisor)
