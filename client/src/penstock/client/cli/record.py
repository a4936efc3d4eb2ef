"""Records of Kafka as plain values: one that was read, and one to be written. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from penstock.client.place import Place

Headers: TypeAlias = list[tuple[str, str | bytes | None]]


class Record(NamedTuple):
    """A record as Kafka has it."""

    place: Place
    time_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers


@dataclass(frozen=True, slots=True)
class Submission:
    """A record to write. Without a partition, the key chooses it, as everywhere in penstock."""

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers
