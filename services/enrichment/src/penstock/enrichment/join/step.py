"""Raw batches in, enriched events and rows of event-sourced tables out: one step of a transactor.

In:  records of events.raw.v1; changes of the tables, which the caller applies between rounds.
Out: events.enriched.v1, one record per event that was not seen before, its own bytes with our part appended;
     tables.<name>.v1 for the types that pipeline.yaml says change a table; enrichment.seen.v1; events.rejected.v1.
     And once more, with revision + 1, each recent event whose join a late change of a table made another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from confluent_kafka import TopicPartition
from google.protobuf.message import DecodeError
from penstock.clock import BatchClock, batch_clock, correct_event
from penstock.enrich.v1.seen_pb2 import SeenWindow
from penstock.enrichment.join.assembly import Assembly
from penstock.enrichment.join.horizon import Emitted, Horizon
from penstock.enrichment.join.joiner import Joiner
from penstock.enrichment.join.recovery import emitted_before, restore_seen
from penstock.enrichment.join.refusals import (
    DUPLICATE,
    NOT_A_BATCH,
    NOT_AN_EVENT,
    TOO_OLD,
    Unfit,
    dead_letter,
    unknown_type,
)
from penstock.enrichment.join.rows import RowWriter, position_of
from penstock.enrichment.join.seen import Ranges, Seen, Verdict
from penstock.enrichment.tables import Status
from penstock.enrichment.transactor import Output, Record
from penstock.events.v1.event_pb2 import Event, Position
from penstock.events.v1.raw_batch_pb2 import RawBatchView, Rejection
from penstock.pipeline import Pipeline, row_key
from penstock.topics import TopicMap

RAW, ENRICHED, SEEN, REJECTED = "events.raw.v1", "events.enriched.v1", "enrichment.seen.v1", "events.rejected.v1"
CORRECTIONS_MAX = 2_000
# A NamedTuple's own constructor takes three times as long.
_tuple = tuple.__new__

# What a topic holds now: of some partitions or all, from a record's time on (milliseconds) or from the beginning.
ReadLog = Callable[[str, Collection[int] | None, int | None], Iterable[Record]]


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

    view: RawBatchView
    source: Position
    clock: BatchClock
    assembly: Assembly
    seen: Seen
    ranges: Ranges  # of the batch's own boot
    now_us: int
    out: list[Output]


class JoinStep:
    """Keeps, per raw partition, which events were taken; and the horizon of events that can still be corrected."""

    def __init__(
        self,
        *,
        pipeline: Pipeline,
        topics: TopicMap,
        joiner: Joiner,
        horizon: Horizon,
        boots_max: int,
        read: ReadLog,
        now_us: Callable[[], int],
    ) -> None:
        self._pipeline = pipeline
        self._topics = {name: topics.kafka_name(name) for name in (RAW, ENRICHED, SEEN, REJECTED)}
        self._enriched = self._topics[ENRICHED]
        self._joiner = joiner
        self._horizon = horizon
        self._boots_max = boots_max
        self._read = read
        self._now_us = now_us
        self._rows = RowWriter(pipeline, topics)
        self._keys = {kind: event_type.key for kind, event_type in pipeline.event_types.items()}
        self._seen: dict[int, Seen] = {}
        self._looked_at: list[tuple[Emitted, tuple[bytes, ...]]] = []
        self._staged = Counts()
        self.counts = Counts()
        self.newest_received_us = 0

    def restore(self, partitions: Sequence[TopicPartition]) -> None:
        numbers = {place.partition for place in partitions}
        if not numbers:
            return
        fresh = {number: Seen(self._boots_max) for number in numbers}
        restore_seen(self._read(self._topics[SEEN], numbers, None), fresh)
        self._seen |= fresh
        since_ms = max(0, (self._now_us() - self._horizon.age_us_max) // 1000)
        for event in emitted_before(self._read(self._enriched, None, since_ms), numbers, self._joiner):
            self._horizon.restore(event)

    def forget(self, partitions: Sequence[TopicPartition]) -> None:
        numbers = {place.partition for place in partitions}
        for number in numbers:
            self._seen.pop(number, None)
        self._horizon.forget(numbers)

    def must_wait(self, messages: Sequence[Record]) -> bool:
        """Whether an event is younger than a table that pipeline.yaml lets it wait for, and has not waited long."""
        if not self._joiner.wait_us_max:
            return False
        now_us = self._now_us()
        return any(self._is_early(message, now_us) for message in messages)

    def _is_early(self, message: Record, now_us: int) -> bool:
        try:
            batch = RawBatchView.FromString(message.value() or b"")
            if now_us - batch.stamp.received_us >= self._joiner.wait_us_max:
                return False
            events = [Event.FromString(raw) for raw in batch.events]
        except DecodeError:
            return False  # process() sets aside what cannot be read
        clock, waited_us = batch_clock(batch.sent, batch.stamp), now_us - batch.stamp.received_us
        return any(
            self._joiner.is_early(event, correct_event(event, clock, batch.boot_id).corrected_us, waited_us)
            for event in events
        )

    def process(self, messages: Sequence[Record]) -> list[Output]:
        out: list[Output] = []
        for message in messages:
            self._batch(message, out)
        for number, seen in self._seen.items():
            out.extend(self._changelog(number, seen))
        return out

    def _batch(self, message: Record, out: list[Output]) -> None:
        source = Position(topic=RAW, partition=message.partition() or 0, offset=message.offset() or 0)
        value = message.value() or b""
        try:
            view = RawBatchView.FromString(value)
        except DecodeError:
            out.append(self._rejected(None, source, [self._set_aside(0, NOT_A_BATCH, value, source)]))
            return
        seen = self._seen[source.partition]
        clock, ranges = batch_clock(view.sent, view.stamp), seen.boot(view.device_id, view.boot_id)
        batch = _Open(view, source, clock, Assembly(view, source), seen, ranges, self._now_us(), out)
        self.newest_received_us = view.stamp.received_us
        refused, rejections = set(view.stamp.refused), []
        for index, raw in enumerate(view.events):
            if index in refused:
                continue
            try:
                event = Event.FromString(raw)
            except DecodeError:
                rejections.append(self._set_aside(index, NOT_AN_EVENT, raw, source))
                continue
            unfit = self._unfit(event, batch)
            if unfit is None:
                self._emit(event, raw, batch)
            elif unfit is not DUPLICATE:
                rejections.append(self._set_aside(index, unfit, raw, source))
        if rejections:
            out.append(self._rejected(view, source, rejections))

    def _unfit(self, event: Event, batch: _Open) -> Unfit | None:
        """None: take it. A DUPLICATE is dropped; all else must be set aside."""
        if event.type not in self._keys:
            return unknown_type(event.type)
        seq, boot_id = event.seq, event.boot_id
        if not seq:
            verdict = batch.seen.take_id(batch.view.device_id, event.id)
        elif not boot_id or boot_id == batch.view.boot_id:
            verdict = batch.ranges.add(seq)
        else:
            verdict = batch.seen.take(batch.view.device_id, boot_id, seq)
        if verdict is Verdict.NEW:
            return None
        if verdict is Verdict.DUPLICATE:
            self._staged.duplicates += 1
            return DUPLICATE
        return TOO_OLD

    def _emit(self, event: Event, raw: bytes, batch: _Open) -> None:
        view, kind, own_boot = batch.view, event.type, event.boot_id
        corrected = correct_event(event, batch.clock, view.boot_id)
        t_us = corrected.corrected_us
        attribute = self._keys[kind]
        key = (event.attributes.get(attribute, "") if attribute is not None else view.device_id).encode()
        base = raw + batch.assembly.tail(corrected, key, has_boot=bool(own_boot))
        rows, answers = self._joiner.join(event, t_us)
        staged = self._staged
        staged.events += 1
        if rows:
            encoded = tuple([answer.encoded for answer in answers])
            for answer in answers:
                staged.joins[answer.label] += 1
            self._horizon.add(Emitted(batch.source.partition, key, base, t_us, batch.now_us, 0, rows, encoded))
            base = b"".join((base, *encoded))
        batch.out.append(_tuple(Output, (self._enriched, key, base, None)))
        if kind in self._rows:
            position = position_of(view.device_id, own_boot or view.boot_id, event)
            staged.rows += 1
            batch.out.append(self._rows.change(event, t_us, position, batch.assembly.source))

    def _changelog(self, number: int, seen: Seen) -> Iterator[Output]:
        for device_id, boot_id in seen.excess():
            yield Output(self._topics[SEEN], row_key((device_id, boot_id)).encode(), None, number)
        for (device_id, boot_id), ranges in seen.staged_ranges():
            key = row_key((device_id, boot_id))
            window = SeenWindow(
                key=key, device_id=device_id, boot_id=boot_id, ranges=ranges.edges, forgotten=ranges.forgotten
            )
            yield Output(self._topics[SEEN], key.encode(), window.SerializeToString(), number)
        for device_id, ids in seen.staged_ids():
            key = row_key((device_id, "", "ids"))
            window = SeenWindow(key=key, device_id=device_id, ids=ids)
            yield Output(self._topics[SEEN], key.encode(), window.SerializeToString(), number)

    def lag_s(self) -> float:
        """How long ago the batch joined last had been received."""
        return max(0, self._now_us() - self.newest_received_us) / 1_000_000

    def has_due(self) -> bool:
        return self._horizon.has_suspects()

    def due(self) -> list[Output]:
        out = []
        for event in self._horizon.suspects()[:CORRECTIONS_MAX]:
            encoded = self._again(event)
            self._looked_at.append((event, encoded))
            if encoded != event.enrichments:
                self._staged.corrections += 1
                revision = Event(revision=event.revision + 1).SerializeToString()
                out.append(Output(self._topics[ENRICHED], event.key, b"".join((event.base, *encoded, revision))))
        return out

    def _again(self, event: Emitted) -> tuple[bytes, ...]:
        """Its enrichments as they are now. That a table has forgotten a row's past is no reason to take it back."""
        answers = self._joiner.again(event.rows, event.t_us)
        return tuple(
            said if answer.status is Status.HISTORY_EVICTED else answer.encoded
            for answer, said in zip(answers, event.enrichments, strict=True)
        )

    def committed(self) -> None:
        for seen in self._seen.values():
            seen.commit()
        for event, encoded in self._looked_at:
            if encoded != event.enrichments:
                event.enrichments = encoded
                event.revision += 1
        self._horizon.cleared([event for event, _ in self._looked_at])
        self._looked_at.clear()
        self._horizon.commit()
        self._horizon.expire(self._now_us())
        self.counts = self.counts + self._staged
        self._staged = Counts()

    def rolled_back(self) -> None:
        for seen in self._seen.values():
            seen.rollback()
        self._looked_at.clear()
        self._horizon.rollback()
        self._staged = Counts()

    def _set_aside(self, index: int, why: Unfit, raw: bytes, source: Position) -> Rejection:
        self._staged.rejected[why.label] += 1
        return Rejection(index=index, reason=why.reason, detail=why.detail, event=raw, source=source)

    def _rejected(self, batch: RawBatchView | None, source: Position, rejections: Iterable[Rejection]) -> Output:
        letter = dead_letter(batch, rejections)
        key = letter.device_id or f"{source.partition}"
        return Output(self._topics[REJECTED], key.encode(), letter.SerializeToString())
