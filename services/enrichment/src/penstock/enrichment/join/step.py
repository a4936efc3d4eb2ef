"""Raw batches in, enriched events and rows of event-sourced tables out: one step of a transactor.

In:  records of events.raw.v1; changes of the tables, which the caller applies between rounds.
Out: events.enriched.v1, one record per event that was not seen before, its own bytes with our part appended;
     tables.<name>.v1 for the types that pipeline.yaml says change a table; enrichment.seen.v1; events.rejected.v1.
     And once more, with revision + 1, each recent event whose join a late change of a table made another one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from confluent_kafka import TopicPartition
from google.protobuf.message import DecodeError
from penstock.clock import BatchClock, batch_clock, correct_event
from penstock.enrich.v1.seen_pb2 import SeenWindow
from penstock.enrichment.join.assembly import Assembly, identity
from penstock.enrichment.join.horizon import Emitted, Horizon
from penstock.enrichment.join.joiner import Joiner
from penstock.enrichment.join.rows import RowWriter
from penstock.enrichment.join.seen import Ranges, Seen, Verdict
from penstock.enrichment.transactor import Output, Record
from penstock.events.v1.event_pb2 import Event, Position
from penstock.events.v1.raw_batch_pb2 import RawBatchView, RefusalReason, RejectedBatch, Rejection
from penstock.pipeline import Pipeline, key_values, row_key
from penstock.topics import TopicMap

RAW, ENRICHED, SEEN, REJECTED = "events.raw.v1", "events.enriched.v1", "enrichment.seen.v1", "events.rejected.v1"
CORRECTIONS_MAX = 2_000

# What a topic holds now: of some partitions or all, from a record's time on (milliseconds) or from the beginning.
ReadLog = Callable[[str, Collection[int] | None, int | None], Iterable[Record]]


@dataclass(slots=True)
class Counts:
    """Since the start."""

    events: int = 0
    duplicates: int = 0
    rejected: int = 0
    corrections: int = 0
    rows: int = 0


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
        self._joiner = joiner
        self._horizon = horizon
        self._boots_max = boots_max
        self._read = read
        self._now_us = now_us
        self._rows = RowWriter(pipeline, topics)
        self._keys = {kind: event_type.key for kind, event_type in pipeline.event_types.items()}
        self._seen: dict[int, Seen] = {}
        self._looked_at: list[tuple[Emitted, bytes]] = []
        self._assembly = Assembly()
        self._staged = Counts()
        self.counts = Counts()
        self.newest_received_us = 0

    def restore(self, partitions: Sequence[TopicPartition]) -> None:
        numbers = {place.partition for place in partitions}
        if not numbers:
            return
        for number in numbers:
            self._seen[number] = Seen(self._boots_max)
        for message in self._read(self._topics[SEEN], numbers, None):
            self._restore_seen(message)
        self._restore_horizon(numbers)

    def _restore_seen(self, message: Record) -> None:
        seen, value = self._seen[message.partition() or 0], message.value()
        if value is None:  # a boot that had to be forgotten
            device_id, boot_id = key_values((message.key() or b"").decode())
            seen.restore(device_id, boot_id, None)
            return
        window = SeenWindow.FromString(value)
        if window.ids:
            seen.restore_ids(window.device_id, list(window.ids))
        else:
            seen.restore(window.device_id, window.boot_id, Ranges(list(window.ranges), window.forgotten))

    def _restore_horizon(self, numbers: set[int]) -> None:
        """The newest revision of each event of these partitions that was emitted within the horizon."""
        newest: dict[tuple[str, str, str], tuple[Event, int]] = {}
        now_us = self._now_us()
        since_ms = max(0, (now_us - self._horizon.age_us_max) // 1000)
        for message in self._read(self._topics[ENRICHED], None, since_ms):
            event = Event.FromString(message.value() or b"")
            if event.source.partition in numbers and event.enrichments:
                name = identity(event)
                if name not in newest or newest[name][0].revision < event.revision:
                    newest[name] = (event, message.timestamp()[1] * 1000)
        for event, emitted_us in newest.values():
            self._horizon.restore(self._emitted_before(event, emitted_us))

    def _emitted_before(self, event: Event, emitted_us: int) -> Emitted:
        rows, revision, partition = self._joiner.rows_of(event), event.revision, event.source.partition
        enrichments = Event(enrichments=event.enrichments).SerializeToString(deterministic=True)
        event.ClearField("enrichments")
        event.ClearField("revision")
        base = event.SerializeToString(deterministic=True)
        return Emitted(
            partition, event.key.encode(), base, event.clock.corrected_us, emitted_us, revision, rows, enrichments
        )

    def forget(self, partitions: Sequence[TopicPartition]) -> None:
        numbers = {place.partition for place in partitions}
        for number in numbers:
            self._seen.pop(number, None)
        self._horizon.forget(numbers)

    def must_wait(self, messages: Sequence[Record]) -> bool:
        """Whether an event is younger than a table that pipeline.yaml lets it wait for, and has not waited long."""
        if not self._joiner.may_wait:
            return False
        now_us = self._now_us()
        return any(self._is_early(message, now_us) for message in messages)

    def _is_early(self, message: Record, now_us: int) -> bool:
        try:
            batch = RawBatchView.FromString(message.value() or b"")
            events = [Event.FromString(raw) for raw in batch.events]
        except DecodeError:
            return False  # process() sets aside what cannot be read
        clock, waited_us = batch_clock(batch.sent, batch.stamp), now_us - batch.stamp.received_us
        return any(
            self._joiner.is_early(event, correct_event(event, clock, batch.boot_id).corrected_us, waited_us)
            for event in events
        )

    def process(self, messages: Sequence[Record]) -> Iterator[Output]:
        for message in messages:
            yield from self._batch(message)
        for number, seen in self._seen.items():
            yield from self._changelog(number, seen)

    def _batch(self, message: Record) -> Iterator[Output]:
        source = Position(topic=RAW, partition=message.partition() or 0, offset=message.offset() or 0)
        try:
            batch = RawBatchView.FromString(message.value() or b"")
        except DecodeError:
            yield self._rejected(None, source, [self._rejection(0, "not a RawBatch", message.value() or b"", source)])
            return
        clock, refused = batch_clock(batch.sent, batch.stamp), set(batch.stamp.refused)
        self._assembly.begin(batch, source)
        self.newest_received_us = batch.stamp.received_us
        rejections = []
        for index, raw in enumerate(batch.events):
            if index in refused:
                continue
            try:
                event = Event.FromString(raw)
            except DecodeError:
                rejections.append(self._rejection(index, "not an Event", raw, source))
                continue
            why = self._unfit(event, batch, source.partition)
            if why is None:
                yield from self._event(batch, clock, event, raw, source)
            elif why:
                rejections.append(self._rejection(index, why, raw, source))
        if rejections:
            yield self._rejected(batch, source, rejections)

    def _unfit(self, event: Event, batch: RawBatchView, partition: int) -> str | None:
        """None: take it. Empty: a duplicate, drop it. Else why it must be set aside."""
        if event.type not in self._keys:
            return f"type {event.type!r} is no longer declared in pipeline.yaml"
        seen = self._seen[partition]
        if event.seq:
            verdict = seen.take(batch.device_id, event.boot_id or batch.boot_id, event.seq)
        else:
            verdict = seen.take_id(batch.device_id, event.id)
        if verdict is Verdict.DUPLICATE:
            self._staged.duplicates += 1
            return ""
        return None if verdict is Verdict.NEW else "too old to tell whether it was taken before"

    def _event(
        self, batch: RawBatchView, clock: BatchClock, event: Event, raw: bytes, source: Position
    ) -> Iterator[Output]:
        corrected = correct_event(event, clock, batch.boot_id)
        attribute = self._keys[event.type]
        key = event.attributes.get(attribute, "") if attribute is not None else batch.device_id
        base = raw + self._assembly.tail(event, corrected, key)
        encoded, rows = self._joiner.join(event, corrected.corrected_us)
        key_bytes = key.encode()
        self._staged.events += 1
        yield Output(self._topics[ENRICHED], key_bytes, base + encoded)
        if rows:
            t_us, now_us = corrected.corrected_us, self._now_us()
            self._horizon.add(Emitted(source.partition, key_bytes, base, t_us, now_us, 0, rows, encoded))
        row = self._rows.change(event, batch, corrected.corrected_us, source)
        if row is not None:
            self._staged.rows += 1
            yield row

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

    def due(self) -> Iterator[Output]:
        for event in self._horizon.suspects()[:CORRECTIONS_MAX]:
            encoded = self._joiner.encode(event.rows, event.t_us)
            self._looked_at.append((event, encoded))
            if encoded != event.enrichments:
                self._staged.corrections += 1
                revision = Event(revision=event.revision + 1).SerializeToString()
                yield Output(self._topics[ENRICHED], event.key, event.base + encoded + revision)

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
        total, staged = self.counts, self._staged
        self.counts = Counts(
            total.events + staged.events,
            total.duplicates + staged.duplicates,
            total.rejected + staged.rejected,
            total.corrections + staged.corrections,
            total.rows + staged.rows,
        )
        self._staged = Counts()

    def rolled_back(self) -> None:
        for seen in self._seen.values():
            seen.rollback()
        self._looked_at.clear()
        self._horizon.rollback()
        self._staged = Counts()

    def _rejection(self, index: int, why: str, raw: bytes, source: Position) -> Rejection:
        self._staged.rejected += 1
        return Rejection(
            index=index, reason=RefusalReason.REFUSAL_REASON_MALFORMED, detail=why, event=raw, source=source
        )

    def _rejected(self, batch: RawBatchView | None, source: Position, rejections: Iterable[Rejection]) -> Output:
        rejected = RejectedBatch(refused_by="enrichment", rejections=rejections)
        if batch is not None:
            rejected.device_id, rejected.boot_id = batch.device_id, batch.boot_id
            rejected.received_us = batch.stamp.received_us
        key = rejected.device_id or f"{source.partition}"
        return Output(self._topics[REJECTED], key.encode(), rejected.SerializeToString())
