"""Joins an event with the rows that were valid at its time.

In:  an event, its corrected time, and the tables as they are now. Out: the enrichments, encoded as they stand on the
     event, and which rows they come from, so that a later change of one of them can be recognised.
Pure: tables are asked, nothing else. Whoever changes a table tells row_changed().
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from penstock.enrichment.tables import BEGINNING_US, FOREVER_US, Found, Status, Version
from penstock.events.v1.event_pb2 import Enrichment, EnrichmentStatus, Event, Position, RowVersion
from penstock.pipeline import Pipeline, row_key

CACHE_MAX = 200_000


class AsOf(Protocol):
    """What a join needs of a table."""

    @property
    def newest_us(self) -> int | None: ...

    def as_of(self, key: str, t_us: int) -> Found: ...

    def newest(self, key: str) -> Found: ...


class Row(NamedTuple):
    """What one enrichment asked for: a row of a table, by the plan with this number."""

    plan: int
    table: str
    key: str


class Answer(NamedTuple):
    """One enrichment. `encoded` is appended to the event's bytes (protobuf merges); equal bytes, equal joins."""

    encoded: bytes
    status: Status
    label: tuple[str, str]  # table and status, for counting: enums are slow keys


class Joined(NamedTuple):
    """What an event asked for, and what it got, in one order."""

    rows: tuple[Row, ...]
    answers: tuple[Answer, ...]


class Plan(NamedTuple):
    """One enrichment of pipeline.yaml."""

    number: int
    name: str
    table: str
    topic: str
    on: tuple[str, ...]
    columns: frozenset[str] | None
    wait_us: int


NOTHING = Joined((), ())


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


class Known:
    """What was said of a row: its newest version holds from its time on, which most events ask for; others by version.

    The newest version is never evicted, so it can be kept here until the row changes.
    """

    __slots__ = ("encoded", "from_us", "newest", "older", "row", "rows")

    def __init__(self, row: Row, from_us: int, newest: Answer) -> None:
        self.row = row
        self.from_us = from_us
        self.newest = newest
        self.older: dict[tuple[int, Version | None], Answer] = {}
        # As an event with this enrichment alone has them.
        self.rows = (row,)
        self.encoded = (newest.encoded,)


class Joiner:
    def __init__(self, plans: Mapping[str, Sequence[Plan]], tables: Mapping[str, AsOf]) -> None:
        self.plans = {kind: tuple(of_kind) for kind, of_kind in plans.items() if of_kind}
        self._by_number = {plan.number: plan for of_kind in plans.values() for plan in of_kind}
        self._by_name = {(kind, plan.name): plan for kind, of_kind in plans.items() for plan in of_kind}
        self._tables = tables
        # An author writes many posts between two changes of a profile: the same bytes again.
        self._known: dict[int, dict[bytes, Known]] = {number: {} for number in self._by_number}
        self.wait_us_max = max((plan.wait_us for plan in self._by_number.values()), default=0)

    def is_early(self, event: Event, t_us: int, waited_us: int) -> bool:
        """Whether a table that the event may wait for has not come as far as the event's time."""
        for plan in self.plans.get(event.type, ()):
            if waited_us < plan.wait_us and (self._tables[plan.table].newest_us or 0) < t_us:
                return True
        return False

    def join(self, event: Event, t_us: int) -> Joined:
        """With the tables as they are now, as far as row_changed() told."""
        plans = self.plans.get(event.type)
        if plans is None:
            return NOTHING
        value = event.attributes.get
        if len(plans) == 1 and len(plans[0].on) == 1:  # the usual case, in few steps
            plan = plans[0]
            known, answer = self._one(plan, row_key((value(plan.on[0], ""),)), t_us)
            return Joined(known.rows, (answer,))
        keys = [row_key([value(name, "") for name in plan.on]) for plan in plans]
        found = [self._one(plan, key, t_us) for plan, key in zip(plans, keys, strict=True)]
        return Joined(tuple(known.row for known, _ in found), tuple(answer for _, answer in found))

    def again(self, rows: Sequence[Row], t_us: int) -> tuple[Answer, ...]:
        """What an event that asked for these rows gets now."""
        return tuple(self._one(self._by_number[row.plan], row.key, t_us)[1] for row in rows)

    def row_of(self, event: Event, one: Enrichment) -> Row | None:
        """What an enrichment of an event that was emitted before asked for; None if pipeline.yaml has it no longer."""
        plan = self._by_name.get((event.type, one.name))
        return None if plan is None else Row(plan.number, one.table, one.key)

    def row_changed(self, table: str, key: str | None) -> None:
        """Forgets what was said of a row (None: of all rows): a late version can fill columns of later ones."""
        for plan in self._by_number.values():
            if plan.table != table:
                continue
            if key is None:
                self._known[plan.number].clear()
            else:
                self._known[plan.number].pop(key.encode(), None)

    def remembered(self, plan: Plan) -> dict[bytes, Known]:
        """What is remembered of a plan's rows, by key. To look into; learn() adds."""
        return self._known[plan.number]

    def learn(self, plan: Plan, key: bytes) -> Known:
        """Asks the table for a row that is not remembered."""
        of_plan, text = self._known[plan.number], key.decode()
        if len(of_plan) >= CACHE_MAX:
            of_plan.clear()
        newest = self._tables[plan.table].newest(text)
        known = of_plan[key] = Known(
            Row(plan.number, plan.table, text), _since_us(newest), answer_of(plan, text, newest)
        )
        return known

    def older(self, plan: Plan, known: Known, t_us: int) -> Answer:
        """What was valid before the row's newest version."""
        key = known.row.key
        found = self._tables[plan.table].as_of(key, t_us)
        which = (int(found.status), found.version)
        answer = known.older.get(which)
        if answer is None:
            answer = known.older[which] = answer_of(plan, key, found)
        return answer

    def _one(self, plan: Plan, key: str, t_us: int) -> tuple[Known, Answer]:
        key_bytes = key.encode()
        known = self._known[plan.number].get(key_bytes) or self.learn(plan, key_bytes)
        return known, known.newest if t_us >= known.from_us else self.older(plan, known, t_us)


def _since_us(newest: Found) -> int:
    """From when on a row's newest answer is the answer."""
    if newest.status is Status.HISTORY_EVICTED:
        return FOREVER_US
    return BEGINNING_US if newest.version is None else newest.version.valid_from_us


def join_fresh(plans: Sequence[Plan], tables: Mapping[str, AsOf], event: Event, t_us: int) -> list[Answer]:
    """The same join, remembering nothing: for whoever is not told of changes."""
    keys = [row_key([event.attributes.get(name, "") for name in plan.on]) for plan in plans]
    return [answer_of(plan, key, tables[plan.table].as_of(key, t_us)) for plan, key in zip(plans, keys, strict=True)]


def answer_of(plan: Plan, key: str, found: Found) -> Answer:
    return Answer(_encode(plan, key, found), found.status, (plan.table, found.status.name.lower()))


def _encode(plan: Plan, key: str, found: Found) -> bytes:
    enrichment = Enrichment(
        name=plan.name,
        table=plan.table,
        key=key,
        status=EnrichmentStatus.ValueType(int(found.status)),
        unknown_columns=[name for name in found.unknown if plan.columns is None or name in plan.columns],
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
