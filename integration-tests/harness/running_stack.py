"""The services as a user runs them: processes of their own, seen from outside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.embedded.services import Service
from penstock.embedded.supervisor import Supervisor
from penstock.events.v1.event_pb2 import Event
from penstock.events.v1.raw_batch_pb2 import RawBatchView
from penstock.topics import load
from penstock.topics.content import content


@dataclass(frozen=True)
class RawLog:
    """events.raw.v1 as any consumer reads it."""

    bootstrap: str
    prefix: str

    def batches(self) -> Iterator[RawBatchView]:
        name = load().prefixed(self.prefix).kafka_name("events.raw.v1")
        for message in content({"bootstrap.servers": self.bootstrap}, name):
            yield RawBatchView.FromString(message.value() or b"")

    def events(self) -> Iterator[tuple[RawBatchView, Event]]:
        """Those that were not refused, with their batch."""
        for batch in self.batches():
            refused = set(batch.stamp.refused)
            for index, raw in enumerate(batch.events):
                if index not in refused:
                    yield batch, Event.FromString(raw)

    def identities(self, device_id: str | None = None) -> list[tuple[str, int]]:
        """(boot_id, seq) of the events, of one device or of all, in the log's order."""
        return [
            (event.boot_id or batch.boot_id, event.seq)
            for batch, event in self.events()
            if device_id in {None, batch.device_id}
        ]


@dataclass(frozen=True)
class Ingestion:
    """A running service and the log that it writes."""

    service: Service
    log: RawLog
    supervisor: Supervisor

    @property
    def address(self) -> str:
        return self.service.address

    def identities(self, device_id: str) -> list[tuple[str, int]]:
        return self.log.identities(device_id)
