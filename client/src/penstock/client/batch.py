"""Batches: events that travel together, and what became of them.

A batch collects encoded events until it is closed, is encoded once, and is settled as a whole:
an answer (with its refusals by index) or an error. Receipts look at their batch, so that
settling five hundred events is one assignment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.client.encoding import body_of
from penstock.client.errors import PenstockError
from penstock.events.v1.event_pb2 import ConsistencyToken
from penstock.ingest.v1.ingest_pb2 import Refusal


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said about the events of a batch: those without a refusal were accepted."""

    device_id: str
    boot_id: str
    consistency: ConsistencyToken | None
    refusals: dict[int, Refusal]


Settlement: TypeAlias = Answer | PenstockError


@dataclass(slots=True, eq=False)
class Batch:
    """Events from `first_seq` on, without gaps. Without events: a clock exchange."""

    first_seq: int
    added_us: int
    """When its first event was taken in."""
    expires_us: int
    count: int = 0
    size: int = 0
    """Bytes that its events take in a request, at most."""
    bodies: list[bytes] = field(default_factory=list)
    body: bytes = b""
    attempts: int = 0
    settlement: Settlement | None = None
    callbacks: list[Callable[[], object]] = field(default_factory=list)

    def close(self) -> None:
        """Encodes it; nothing is added any more."""
        self.body = body_of(self.bodies)
        self.bodies = []

    def settle(self, settlement: Settlement) -> None:
        """Says what became of it, and frees what is no longer needed."""
        self.settlement, self.body, self.bodies = settlement, b"", []
