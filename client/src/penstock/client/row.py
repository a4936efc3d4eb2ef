"""What a table says of a row, and of itself: plain values, made from the answers of enrichment. Pure.

Guaranteed: `MISSING` is never a guess. A row whose past is no longer kept is `HISTORY_EVICTED`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import NamedTuple, TypeAlias

from penstock.client.place import Place
from penstock.client.reading import reading_of
from penstock.enrich.v1.enrich_pb2 import LookupRequest, LookupResponse, TableDescription
from penstock.events.v1.event_pb2 import EnrichmentStatus, Position

Key: TypeAlias = str | Sequence[str]
"""A text is a key as the log has it (ada, ada/bob); a sequence is the values of the key's columns, in their order."""
Moment: TypeAlias = datetime | int
"""A datetime with a time zone, or microseconds since 1970."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class RowStatus(Enum):
    """What was found, by the names that enriched events use."""

    MATCHED = EnrichmentStatus.ENRICHMENT_STATUS_MATCHED
    """There is a row."""
    MISSING = EnrichmentStatus.ENRICHMENT_STATUS_MISSING
    """No row with this key was ever seen, or none before the time that was asked for."""
    DELETED = EnrichmentStatus.ENRICHMENT_STATUS_DELETED
    """The row had been deleted by then."""
    HISTORY_EVICTED = EnrichmentStatus.ENRICHMENT_STATUS_HISTORY_EVICTED
    """The time is before the history that is kept of this row: nobody knows."""


class Lookup(NamedTuple):
    """Asks for a row: its newest version, or the one that was valid at a time."""

    table: str
    key: Key
    as_of: Moment | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row, or why there is none."""

    status: RowStatus
    columns: Mapping[str, str]
    """Empty unless MATCHED. Columns that are NULL are absent."""
    valid_from_us: int | None
    """From when the version is valid; None where there is no version."""
    position: bytes
    """Breaks ties between versions of one microsecond: the database's log sequence number, or an event's identity."""
    applied: tuple[Place, ...]
    """The newest record of each partition that the table held when it answered."""
    stale: bool
    """The consistency that was asked for was not reached, which the caller had allowed."""
    unknown: tuple[str, ...] = ()
    """Columns that the row has but whose value the source did not give: not NULL, and never guessed."""

    @property
    def found(self) -> bool:
        """Whether there is a row."""
        return self.status is RowStatus.MATCHED

    @property
    def valid_from(self) -> datetime | None:
        """The same moment as a datetime, in UTC."""
        return None if self.valid_from_us is None else _EPOCH + timedelta(microseconds=self.valid_from_us)


@dataclass(frozen=True, slots=True)
class TableState:
    """A table of one instance of enrichment: how large it is and how far it has come."""

    name: str
    rows: int
    versions: int
    memory_bytes: int
    lag_records: int
    """Records of its log that are not applied yet."""
    applied: tuple[Place, ...]
    content_hash: bytes
    """Equal for equal content, whatever the order in which it came."""


def key_text(key: Key) -> str:
    """The key as the log has it. ValueError if no row can have it."""
    # Half of what importing this package would take, and whoever only publishes never needs it.
    from penstock.pipeline import key_values, row_key

    if not isinstance(key, str):
        return row_key(key)
    key_values(key)
    return key


def request_of(lookup: Lookup) -> LookupRequest:
    """The question as it is sent."""
    request = LookupRequest(table=lookup.table, key=key_text(lookup.key))
    if lookup.as_of is not None:
        request.as_of_us = lookup.as_of if isinstance(lookup.as_of, int) else reading_of(lookup.as_of).wall_us
    return request


def row_of(response: LookupResponse) -> Row:
    """The answer. ValueError if its status is not known here."""
    versioned = response.HasField("version")
    return Row(
        RowStatus(response.status),
        dict(response.columns),
        response.version.valid_from_us if versioned else None,
        response.version.position,
        places_of(response.applied),
        response.stale,
        tuple(response.unknown_columns),
    )


def state_of(said: TableDescription) -> TableState:
    """One table of the answer to Describe."""
    return TableState(
        said.name, said.rows, said.versions, said.bytes, said.lag_records, places_of(said.applied), said.content_hash
    )


def places_of(positions: Iterable[Position]) -> tuple[Place, ...]:
    """By topic and partition."""
    return tuple(sorted(Place(position.topic, position.partition, position.offset) for position in positions))
