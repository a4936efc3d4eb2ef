"""What came out of a race, compared with what went in: every event once, each join as the oracle has it.

In:  raw batches, the oracle, and the records that a contestant wrote. Out: how many are wrong, which counts events that
     are missing, that came more than once, and that differ. A revision above 0 is wrong, too: no row came late here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from enrich_data import BATCH, SHAPES, Oracle, Row, Shape
from enrich_log import Record
from penstock.clock import BatchClock, batch_clock, correct_event
from penstock.events.v1.event_pb2 import ENRICHMENT_STATUS_MATCHED, EnrichmentStatus, Event
from penstock.events.v1.raw_batch_pb2 import RawBatchView
from penstock.pipeline import row_key
from penstock.tables.v1.row_change_pb2 import Op, RowChange

BY_TYPE = {shape.event_type: shape for shape in SHAPES.values()}


@dataclass
class Batch:
    """One raw batch: its events' own bytes, all that their times depend on, and which of them were seen."""

    shape: Shape
    boot_id: str
    clock: BatchClock
    events: list[bytes]
    first_seq: int
    seen: bytearray = field(default_factory=lambda: bytearray(BATCH))


@dataclass(frozen=True)
class Expected:
    """What one event must come out as. `raw` is the device's part."""

    shape: Shape
    raw: bytes
    event: Event
    corrected_us: int
    row: Row

    @property
    def key(self) -> str:
        return self.event.attributes[self.shape.on]

    @property
    def columns(self) -> dict[str, str]:
        return {name: self.row.columns[name] for name in self.shape.columns if name in self.row.columns}


class Ledger:
    """The events that must be there. Each may be taken once."""

    def __init__(self, records: Iterable[Record], oracle: Oracle) -> None:
        self._oracle = oracle
        self._batches: dict[int, Batch] = {}
        for record in records:
            view = RawBatchView.FromString(record.value)
            first = Event.FromString(view.events[0])
            batch = Batch(
                BY_TYPE[first.type], view.boot_id, batch_clock(view.sent, view.stamp), list(view.events), first.seq
            )
            self._batches[first.seq // BATCH] = batch

    def take(self, seq: int) -> Expected | None:
        """None if there is no such event, or no longer."""
        batch = self._batches.get((seq - 1) // BATCH)
        if batch is None or batch.seen[seq - batch.first_seq]:
            return None
        batch.seen[seq - batch.first_seq] = 1
        raw = batch.events[seq - batch.first_seq]
        event = Event.FromString(raw)
        corrected_us = correct_event(event, batch.clock, batch.boot_id).corrected_us
        row = self._oracle.as_of(event.attributes[batch.shape.on], corrected_us)
        return Expected(batch.shape, raw, event, corrected_us, row)

    def missing(self, shapes: Iterable[Shape]) -> int:
        wanted = set(shapes)
        return sum(batch.seen.count(0) for batch in self._batches.values() if batch.shape in wanted)


def wrong_events(ledger: Ledger, values: Iterable[bytes]) -> int:
    """Of events.enriched.v1."""
    wrong = 0
    for value in values:
        event = Event.FromString(value)
        expected = None if event.revision else ledger.take(event.seq)
        # The device's part comes first, byte for byte.
        wrong += expected is None or not value.startswith(expected.raw) or not is_right(event, expected)
    return wrong + ledger.missing(BY_TYPE.values())


def is_right(event: Event, expected: Expected) -> bool:
    if len(event.enrichments) != 1:
        return False
    (join,) = event.enrichments
    return (
        event.key == expected.key == join.key
        and event.clock.corrected_us == expected.corrected_us
        and join.status == expected.row.status
        and join.version.valid_from_us == expected.row.valid_from_us
        and join.columns == expected.columns
    )


def wrong_rows(ledger: Ledger, values: Iterable[bytes]) -> int:
    """Of tables.posts.v1."""
    wrong = 0
    for value in values:
        change = RowChange.FromString(value)
        expected = ledger.take(int.from_bytes(change.version.position[-8:], "big"))
        wrong += expected is None or not is_right_row(change, expected)
    return wrong + ledger.missing(shape for shape in BY_TYPE.values() if shape.row_key)


def is_right_row(change: RowChange, expected: Expected) -> bool:
    attributes, shape = expected.event.attributes, expected.shape
    return (
        change.op == Op.OP_UPSERT
        and change.key == row_key([attributes[name] for name in shape.row_key])
        and change.version.valid_from_us == expected.corrected_us
        and change.columns == {name: attributes[name] for name in shape.row_columns}
    )


def wrong_of_peer(ledger: Ledger, shape: Shape, values: Iterable[bytes]) -> int:
    """Of what Quix wrote for one shape."""
    wrong = 0
    for value in values:
        event = json.loads(value)
        expected = ledger.take(event["seq"])
        wrong += expected is None or not is_right_of_peer(event, expected)
    return wrong + ledger.missing([shape])


def is_right_of_peer(event: dict[str, Any], expected: Expected) -> bool:
    join, row = event[expected.shape.on + "_row"], expected.row
    return bool(
        join["status"] == EnrichmentStatus.Name(row.status).removeprefix("ENRICHMENT_STATUS_")
        and join["columns"] == (expected.columns if row.status == ENRICHMENT_STATUS_MATCHED else {})
        and join.get("valid_from_us", 0) == row.valid_from_us
    )
