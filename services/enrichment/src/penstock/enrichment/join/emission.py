"""Makes the events of raw batches into records for the logs.

In:  a raw record, the windows of its partition. Out: records, and the events put into the horizon; counts are staged.
Usual events are assembled by compiled code (batch.py) and only joined here; all others go the long way, in Python, to
the same result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from google.protobuf.message import DecodeError
from penstock.clock import BatchClock, batch_clock, correct_event
from penstock.enrichment.join import compiled
from penstock.enrichment.join.assembly import Assembly
from penstock.enrichment.join.batch import Assembled, Assembler
from penstock.enrichment.join.declared import Declared
from penstock.enrichment.join.horizon import Emitted, Horizon
from penstock.enrichment.join.joiner import Answer, Joiner, Known, Plan, Row
from penstock.enrichment.join.refusals import (
    NOT_A_BATCH,
    NOT_AN_EVENT,
    TOO_OLD,
    Unfit,
    dead_letter,
    too_large,
    unknown_type,
)
from penstock.enrichment.join.rows import RowWriter, position_of
from penstock.enrichment.join.seen import Ranges, Seen, Verdict
from penstock.enrichment.steps import Output, Record
from penstock.events.v1.event_pb2 import Event, Position
from penstock.events.v1.raw_batch_pb2 import RawBatchView, Rejection
from penstock.pipeline import Pipeline
from penstock.topics import TopicMap

RAW, ENRICHED, REJECTED = "events.raw.v1", "events.enriched.v1", "events.rejected.v1"
RECORD_ROOM_BYTES: Final = 64 << 10
_tuple: Final = tuple.__new__  # a NamedTuple's own constructor takes three times as long


@dataclass(slots=True)
class Counts:
    """Since the start."""

    events: int = 0
    duplicates: int = 0
    corrections: int = 0
    rows: int = 0
    rejected: Counter[str] = field(default_factory=Counter)  # by reason
    joins: Counter[tuple[str, str]] = field(default_factory=Counter)  # by table and status

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.events + other.events,
            self.duplicates + other.duplicates,
            self.corrections + other.corrections,
            self.rows + other.rows,
            self.rejected + other.rejected,
            self.joins + other.joins,
        )


class _Open(NamedTuple):
    """The batch under way, and what all of its events need."""

    value: bytes
    view: RawBatchView
    source: Position
    clock: BatchClock
    assembly: Assembly
    seen: Seen
    ranges: Ranges  # of the batch's own boot
    now_us: int
    out: list[Output]
    rejections: list[Rejection]


class _Kind(NamedTuple):
    """What the loop over usual events needs of a type. `only` is its enrichment if it has one, by one attribute."""

    plans: tuple[Plan, ...]
    only: Plan | None
    remembered: dict[bytes, Known]
    row_topic: str | None


class Emission:
    def __init__(self, pipeline: Pipeline, topics: TopicMap, joiner: Joiner, horizon: Horizon) -> None:
        self._enriched, self._rejected = topics.kafka_name(ENRICHED), topics.kafka_name(REJECTED)
        # The limit is of compressed batches of records; leave room for what surrounds them.
        self.bytes_max = topics[ENRICHED].max_message_bytes - RECORD_ROOM_BYTES
        self._joiner = joiner
        self._horizon = horizon
        self._rows = RowWriter(pipeline, topics)
        self._keys = {kind: event_type.key for kind, event_type in pipeline.event_types.items()}
        declared = Declared(pipeline, joiner.plans, self._rows.shapes)
        self._assembler = Assembler(declared)
        self._kinds = [self._kind(name) for name in declared.kinds]
        self.staged = Counts()
        self.newest_received_us = 0

    def _kind(self, name: str) -> _Kind:
        plans, row = self._joiner.plans.get(name, ()), self._rows.shapes.get(name)
        only = plans[0] if len(plans) == 1 and len(plans[0].on) == 1 else None
        remembered = {} if only is None else self._joiner.remembered(only)
        return _Kind(plans, only, remembered, None if row is None else row.topic)

    def batch(self, record: Record, seen: Seen, now_us: int, out: list[Output]) -> None:
        """Appends what follows from one record of the raw log."""
        source = Position(topic=RAW, partition=record.partition() or 0, offset=record.offset() or 0)
        value = record.value() or b""
        view = _view(value)
        if view is None:
            rejections = [self._set_aside(0, NOT_A_BATCH, value, source)]
            out.append(self._dead_letter(None, source, rejections))
            return
        clock, ranges = batch_clock(view.sent, view.stamp), seen.boot(view.device_id, view.boot_id)
        batch = _Open(value, view, source, clock, Assembly(view, source), seen, ranges, now_us, out, [])
        self.newest_received_us = view.stamp.received_us
        refused = frozenset(view.stamp.refused)
        assembled = self._assembler.assemble(value, view, clock, batch.assembly)
        if assembled is not None:
            self._assembled(assembled, refused, batch)
        else:
            for index, raw in enumerate(view.events):
                if index not in refused:
                    self._unusual(index, raw, batch)
        if batch.rejections:
            out.append(self._dead_letter(view, source, batch.rejections))

    def _assembled(self, assembled: Assembled, refused: Collection[int], batch: _Open) -> None:
        """Once per event, hundreds of thousands of times a second: every step here counts."""
        value, text, kinds, enriched = batch.value, assembled.out, self._kinds, self._enriched
        add, append, emitted = batch.ranges.add, batch.out.append, 0
        for index, (
            status, at, end, number, seq, t_us, base_at, base_end, key_at, key_end,
            row_at, row_end, row_key_at, row_key_end, partition, on_at, on_end,
        ) in enumerate(zip(*assembled.columns, strict=True)):  # fmt: skip
            if refused and index in refused:
                continue
            if not status:
                self._unusual(index, value[at:end], batch)
                continue
            verdict = add(seq)
            if verdict is not Verdict.NEW:
                self._not_new(index, verdict, value[at:end], batch)
                continue
            plans, only, remembered, row_topic = kinds[number]
            key, base = text[key_at:key_end], text[base_at:base_end]
            answers: tuple[Answer, ...]
            if only is not None:
                known = remembered.get(value[on_at:on_end]) or self._joiner.learn(only, value[on_at:on_end])
                if t_us >= known.from_us:
                    answers, encoded = (known.newest,), known.encoded
                else:
                    answers = (self._joiner.older(only, known, t_us),)
                    encoded = (answers[0].encoded,)
                joined = self._joined(index, key, base, t_us, known.rows, answers, encoded, batch)
            elif plans:
                rows, answers = self._join_usual(plans, assembled.rows[index], t_us, value)
                encoded = tuple([answer.encoded for answer in answers])
                joined = self._joined(index, key, base, t_us, rows, answers, encoded, batch)
            else:
                joined = base
            if joined is None:
                continue
            emitted += 1
            append(_tuple(Output, (enriched, key, joined, None)))
            if row_topic is not None:
                self.staged.rows += 1
                append(_tuple(Output, (row_topic, text[row_key_at:row_key_end], text[row_at:row_end], partition)))
        self.staged.events += emitted

    def _join_usual(
        self, plans: tuple[Plan, ...], row: Iterable[int], t_us: int, value: bytes
    ) -> tuple[tuple[Row, ...], tuple[Answer, ...]]:
        """Several enrichments, or one by several attributes, whose values stand one after the other."""
        spans = [int(place) for place in row][compiled.ON_AT :]
        rows, answers, at = [], [], 0
        for plan in plans:
            values = [value[spans[at + 2 * n] : spans[at + 2 * n + 1]] for n in range(len(plan.on))]
            at += 2 * len(plan.on)
            key = b"/".join(values)
            known = self._joiner.remembered(plan).get(key) or self._joiner.learn(plan, key)
            rows.append(known.row)
            answers.append(known.newest if t_us >= known.from_us else self._joiner.older(plan, known, t_us))
        return tuple(rows), tuple(answers)

    def _joined(
        self,
        index: int,
        key: bytes,
        base: bytes,
        t_us: int,
        rows: tuple[Row, ...],
        answers: tuple[Answer, ...],
        encoded: tuple[bytes, ...],
        batch: _Open,
    ) -> bytes | None:
        """Counts and remembers a joined event; all of its bytes. None: too many of them, so it is set aside."""
        joined = b"".join((base, *encoded))
        if len(joined) > self.bytes_max:
            why = too_large(len(joined), self.bytes_max)
            batch.rejections.append(self._set_aside(index, why, batch.view.events[index], batch.source))
            return None
        joins = self.staged.joins
        for answer in answers:
            joins[answer.label] += 1
        self._horizon.add(Emitted(batch.source.partition, key, base, t_us, batch.now_us, 0, rows, encoded))
        return joined

    def _unusual(self, index: int, raw: bytes, batch: _Open) -> None:
        try:
            event = Event.FromString(raw)
        except DecodeError:
            batch.rejections.append(self._set_aside(index, NOT_AN_EVENT, raw, batch.source))
            return
        if event.type not in self._keys:
            batch.rejections.append(self._set_aside(index, unknown_type(event.type), raw, batch.source))
            return
        verdict = self._verdict(event, batch)
        if verdict is Verdict.NEW:
            self._emit(index, event, raw, batch)
        else:
            self._not_new(index, verdict, raw, batch)

    def _verdict(self, event: Event, batch: _Open) -> Verdict:
        seq, boot_id = event.seq, event.boot_id
        if not seq:
            return batch.seen.take_id(batch.view.device_id, event.id)
        if not boot_id or boot_id == batch.view.boot_id:
            return batch.ranges.add(seq)
        return batch.seen.take(batch.view.device_id, boot_id, seq)

    def _not_new(self, index: int, verdict: Verdict, raw: bytes, batch: _Open) -> None:
        if verdict is Verdict.DUPLICATE:
            self.staged.duplicates += 1
        else:
            batch.rejections.append(self._set_aside(index, TOO_OLD, raw, batch.source))

    def _emit(self, index: int, event: Event, raw: bytes, batch: _Open) -> None:
        view, kind, own_boot = batch.view, event.type, event.boot_id
        corrected = correct_event(event, batch.clock, view.boot_id)
        t_us = corrected.corrected_us
        attribute = self._keys[kind]
        key = (event.attributes.get(attribute, "") if attribute is not None else view.device_id).encode()
        base: bytes | None = raw + batch.assembly.tail(corrected, key, has_boot=bool(own_boot))
        rows, answers = self._joiner.join(event, t_us)
        if rows and base is not None:
            encoded = tuple([one.encoded for one in answers])
            base = self._joined(index, key, base, t_us, rows, answers, encoded, batch)
        if base is None:
            return
        self.staged.events += 1
        batch.out.append(Output(self._enriched, key, base))
        if kind in self._rows:
            position = position_of(view.device_id, own_boot or view.boot_id, event)
            self.staged.rows += 1
            batch.out.append(self._rows.change(event, t_us, corrected.error_bound_us, position, batch.assembly.source))

    def _set_aside(self, index: int, why: Unfit, raw: bytes, source: Position) -> Rejection:
        self.staged.rejected[why.label] += 1
        return Rejection(index=index, reason=why.reason, detail=why.detail, event=raw, source=source)

    def _dead_letter(self, view: RawBatchView | None, source: Position, rejections: Iterable[Rejection]) -> Output:
        letter = dead_letter(view, rejections)
        key = letter.device_id or f"{source.partition}"
        return Output(self._rejected, key.encode(), letter.SerializeToString())


def _view(value: bytes) -> RawBatchView | None:
    """None: these bytes were not written by ingestion."""
    try:
        view = RawBatchView.FromString(value)
    except DecodeError:
        return None
    return view if view.HasField("stamp") else None
