"""Joins an event with the rows that were valid at its time.

In:  an event, its corrected time, and the tables as they are now. Out: the enrichments, encoded as they stand on the
     event, and which rows they come from, so that a later change of one of them can be recognised.
Pure: tables are asked, nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from penstock.enrichment.tables import Found, Version
from penstock.events.v1.event_pb2 import Enrichment, EnrichmentStatus, Event, Position, RowVersion
from penstock.pipeline import Pipeline, row_key

CACHE_MAX = 100_000


class AsOf(Protocol):
    """What a join needs of a table."""

    @property
    def newest_us(self) -> int | None: ...

    def as_of(self, key: str, t_us: int) -> Found: ...


class Row(NamedTuple):
    """What one enrichment asked for: a row of a table, by the plan with this number."""

    plan: int
    table: str
    key: str


class Joined(NamedTuple):
    """`encoded` is appended to the event's bytes (protobuf merges); equal bytes, equal joins."""

    encoded: bytes
    rows: tuple[Row, ...]


class Plan(NamedTuple):
    """One enrichment of pipeline.yaml."""

    number: int
    name: str
    table: str
    topic: str
    on: tuple[str, ...]
    columns: frozenset[str] | None
    wait_us: int


NOTHING = Joined(b"", ())


def plans_of(pipeline: Pipeline, topics: Mapping[str, str]) -> dict[str, tuple[Plan, ...]]:
    """By event type; `topics` names each table's topic."""
    numbers = iter(range(1_000_000))
    return {
        kind: tuple(
            Plan(
                next(numbers),
                one.name,
                one.table,
                topics[one.table],
                one.on,
                None if one.columns is None else frozenset(one.columns),
                one.wait_for_table_ms * 1000,
            )
            for one in pipeline.enrichments_of(kind)
        )
        for kind in pipeline.event_types
    }


class Joiner:
    def __init__(self, plans: Mapping[str, Sequence[Plan]], tables: Mapping[str, AsOf]) -> None:
        self._plans = {kind: tuple(of_kind) for kind, of_kind in plans.items() if of_kind}
        self._by_number = {plan.number: plan for of_kind in plans.values() for plan in of_kind}
        self._by_name = {(kind, plan.name): plan for kind, of_kind in plans.items() for plan in of_kind}
        self._tables = tables
        # An author writes many posts between two changes of a profile: the same bytes again.
        self._encoded: dict[Row, dict[tuple[int, Version | None], bytes]] = {}

        self.may_wait = any(plan.wait_us for plan in self._by_number.values())

    def is_early(self, event: Event, t_us: int, waited_us: int) -> bool:
        """Whether a table that the event may wait for has not come as far as the event's time."""
        for plan in self._plans.get(event.type, ()):
            if waited_us < plan.wait_us and (self._tables[plan.table].newest_us or 0) < t_us:
                return True
        return False

    def join(self, event: Event, t_us: int) -> Joined:
        plans = self._plans.get(event.type)
        if plans is None:
            return NOTHING
        value = event.attributes.get
        rows = tuple(Row(plan.number, plan.table, row_key([value(name, "") for name in plan.on])) for plan in plans)
        return Joined(self.encode(rows, t_us), rows)

    def encode(self, rows: Sequence[Row], t_us: int) -> bytes:
        """The enrichments from these rows, with the tables as they are now."""
        return b"".join([self._one(row, t_us) for row in rows])

    def rows_of(self, event: Event) -> tuple[Row, ...]:
        """What an event that was emitted before asked for, from its own enrichments."""
        plans = ((self._by_name.get((event.type, one.name)), one) for one in event.enrichments)
        return tuple(Row(plan.number, one.table, one.key) for plan, one in plans if plan is not None)

    def row_changed(self, table: str, key: str | None) -> None:
        """Forgets what was encoded of a row (None: of all rows): a late version can fill columns of later ones."""
        if key is None:
            self._encoded.clear()
            return
        for plan in self._by_number.values():
            if plan.table == table:
                self._encoded.pop(Row(plan.number, table, key), None)

    def _one(self, row: Row, t_us: int) -> bytes:
        found = self._tables[row.table].as_of(row.key, t_us)
        known = self._encoded.get(row)
        if known is None:
            if len(self._encoded) >= CACHE_MAX:
                self._encoded.clear()
            known = self._encoded[row] = {}
        which = (int(found.status), found.version)
        encoded = known.get(which)
        if encoded is None:
            encoded = known[which] = _encode(self._by_number[row.plan], row.key, found)
        return encoded


def _encode(plan: Plan, key: str, found: Found) -> bytes:
    enrichment = Enrichment(
        name=plan.name, table=plan.table, key=key, status=EnrichmentStatus.ValueType(int(found.status))
    )
    for name, value in found.columns.items():
        if plan.columns is None or name in plan.columns:
            enrichment.columns[name] = value
    if found.version is not None:
        enrichment.version.CopyFrom(
            RowVersion(valid_from_us=found.version.valid_from_us, position=found.version.position)
        )
        enrichment.source.CopyFrom(Position(topic=plan.topic, partition=found.partition, offset=found.offset))
    return Event(enrichments=[enrichment]).SerializeToString(deterministic=True)
