"""The comparison with the oracle must notice whatever can go wrong, or `wrong: 0` says nothing."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from penstock.events.v1.event_pb2 import ENRICHMENT_STATUS_MISSING, ClockDomain, ClockMethod, Event
from penstock.events.v1.raw_batch_pb2 import RawBatch
from penstock.tables.v1.row_change_pb2 import Op, RowChange

NOW_US = 1_800_000_000_000_000
OFFSET_US = 5_000
ROWS = 200


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    return import_module("enrich_data"), import_module("enrich_check")


class Case:
    """One raw batch of posts, as ingestion stamps it, and what must come out."""

    def __init__(self, data: ModuleType, check: ModuleType) -> None:
        self.check = check
        self.shape = data.POSTS
        self.oracle = data.Oracle(data.changes(ROWS, NOW_US))
        (request,) = data.requests(self.shape, 0, 1, ROWS, NOW_US)
        raw = RawBatch.FromString(request)
        raw.sent.wall_us = NOW_US
        raw.stamp.received_us = NOW_US + OFFSET_US
        raw.stamp.method = ClockMethod.CLOCK_METHOD_NAIVE
        raw.stamp.domain = ClockDomain.CLOCK_DOMAIN_WALL
        raw.stamp.offset_us = OFFSET_US
        self.record = import_module("enrich_log").Record(b"", raw.SerializeToString())
        self.raw = raw

    def ledger(self) -> Any:
        return self.check.Ledger([self.record], self.oracle)

    def enriched(self) -> list[bytes]:
        return [event.SerializeToString() + self.tail(event) for event in self.raw.events]

    def tail(self, event: Event) -> bytes:
        user, corrected_us = event.attributes["author"], event.occurred.wall_us + OFFSET_US
        row = self.oracle.as_of(user, corrected_us)
        tail = Event(key=user)
        tail.clock.corrected_us = corrected_us
        join = tail.enrichments.add(key=user, status=row.status)
        join.version.valid_from_us = row.valid_from_us
        join.columns.update({name: row.columns[name] for name in ("name", "country") if row.columns})
        return tail.SerializeToString()

    def rows(self) -> list[bytes]:
        return [self.row(event) for event in self.raw.events]

    def row(self, event: Event) -> bytes:
        key = f"{event.attributes['author']}/{event.attributes['post_id']}"
        change = RowChange(table="posts", key=key, op=Op.OP_UPSERT)
        change.version.valid_from_us = event.occurred.wall_us + OFFSET_US
        change.version.position = b"d\0b\0" + event.seq.to_bytes(8, "big")
        change.columns.update({name: event.attributes[name] for name in ("text", "language")})
        return change.SerializeToString()


@pytest.fixture
def case(modules: tuple[ModuleType, ModuleType]) -> Case:
    return Case(*modules)


def test_what_is_right_is_not_wrong(case: Case) -> None:
    assert case.check.wrong_events(case.ledger(), case.enriched()) == 0
    assert case.check.wrong_rows(case.ledger(), case.rows()) == 0


def joined(change: Callable[[Event], object]) -> Callable[[list[bytes]], None]:
    def damage(values: list[bytes]) -> None:
        event = Event.FromString(values[0])
        change(event)
        # In the order in which services append it, the device's part first.
        values[0] = values[0][: values[0].index(b"\x8a\x01")] + tail_of(event)

    return damage


def tail_of(event: Event) -> bytes:
    return Event(key=event.key, clock=event.clock, enrichments=event.enrichments).SerializeToString()


@pytest.mark.parametrize(
    ("damage", "wrong"),
    [
        pytest.param(lambda values: values.pop(), 1, id="lost"),
        pytest.param(lambda values: values.append(values[7]), 1, id="twice"),
        pytest.param(lambda values: values.append(Event(seq=10**9).SerializeToString()), 1, id="a stranger"),
        pytest.param(lambda values: values.append(values[7] + Event(revision=1).SerializeToString()), 1, id="revised"),
        pytest.param(joined(lambda event: None), 0, id="the same again"),
        pytest.param(joined(lambda event: event.ClearField("enrichments")), 1, id="not joined"),
        pytest.param(joined(lambda event: setattr(event.clock, "corrected_us", 1)), 1, id="another time"),
        pytest.param(joined(lambda event: setattr(event, "key", "x")), 1, id="another key"),
        pytest.param(
            joined(lambda event: setattr(event.enrichments[0], "status", ENRICHMENT_STATUS_MISSING)), 1, id="status"
        ),
        pytest.param(joined(lambda event: event.enrichments[0].columns.update({"name": "x"})), 1, id="column"),
        pytest.param(joined(lambda event: event.enrichments[0].columns.pop("name")), 1, id="column lost"),
        pytest.param(joined(lambda event: setattr(event.enrichments[0].version, "valid_from_us", 1)), 1, id="version"),
    ],
)
def test_an_event_that_is_not_as_it_should_be_is_counted(
    case: Case, damage: Callable[[list[bytes]], None], wrong: int
) -> None:
    values = case.enriched()
    damage(values)
    assert case.check.wrong_events(case.ledger(), values) == wrong


def test_a_row_that_is_lost_doubled_or_different_is_counted(case: Case) -> None:
    rows = case.rows()
    assert case.check.wrong_rows(case.ledger(), rows[1:]) == 1
    assert case.check.wrong_rows(case.ledger(), [*rows, rows[0]]) == 1
    changed = RowChange.FromString(rows[0])
    changed.columns["text"] = "x"
    assert case.check.wrong_rows(case.ledger(), [changed.SerializeToString(), *rows[1:]]) == 1


def test_quix_is_held_to_the_same(case: Case) -> None:
    peer = import_module("enrich_peer")
    found = [json.loads(record.value) for record in peer.records(case.shape, [case.record])]
    names = {1: "MATCHED", 2: "MISSING", 3: "DELETED"}
    for event in found:
        row = case.oracle.as_of(event["author"], event["corrected_us"])
        columns = {name: row.columns[name] for name in ("name", "country") if row.columns}
        event["author_row"] = {"status": names[row.status], "columns": columns, "valid_from_us": row.valid_from_us}

    def wrong() -> int:
        values = [json.dumps(event).encode() for event in found]
        count: int = case.check.wrong_of_peer(case.ledger(), case.shape, values)
        return count

    assert wrong() == 0
    found[0]["author_row"]["status"] = "MISSING"
    assert wrong() == 1
    found.pop()
    assert wrong() == 2
