"""Raw batches in, enriched events and rows of event-sourced tables out: one step of a transactor.

In:  records of events.raw.v1; changes of the tables, which the caller applies between rounds.
Out: events.enriched.v1, one record per event that was not seen before, its own bytes with our part appended;
     tables.<name>.v1 for the types that pipeline.yaml says change a table; enrichment.seen.v1; events.rejected.v1.
     And once more, with revision + 1, each recent event whose join a late change of a table made another one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from confluent_kafka import TopicPartition
from google.protobuf.message import DecodeError
from penstock.clock import batch_clock, correct_event
from penstock.enrich.v1.seen_pb2 import SeenWindow
from penstock.enrichment.join.emission import ENRICHED, RAW, REJECTED, Counts, Emission
from penstock.enrichment.join.horizon import Emitted, Horizon
from penstock.enrichment.join.joiner import Joiner
from penstock.enrichment.join.recovery import emitted_before, restore_seen
from penstock.enrichment.join.seen import Seen
from penstock.enrichment.steps import Output, Record
from penstock.enrichment.tables import Status
from penstock.events.v1.event_pb2 import Event
from penstock.events.v1.raw_batch_pb2 import RawBatchView
from penstock.pipeline import Pipeline, row_key
from penstock.topics import TopicMap

logger = logging.getLogger(__name__)

SEEN = "enrichment.seen.v1"
TOPICS = (RAW, ENRICHED, SEEN, REJECTED)
CORRECTIONS_MAX = 5_000

# What a topic holds now: of some partitions or all, from a record's time on (milliseconds) or from the beginning.
# At most about so many of the newest, or all.
ReadLog = Callable[[str, Collection[int] | None, int | None, int | None], Iterable[Record]]


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
        self._seen_topic, self._enriched = topics.kafka_name(SEEN), topics.kafka_name(ENRICHED)
        self._joiner = joiner
        self._horizon = horizon
        self._boots_max = boots_max
        self._read = read
        self._now_us = now_us
        self._emission = Emission(pipeline, topics, joiner, horizon)
        self._seen: dict[int, Seen] = {}
        self._looked_at: list[tuple[Emitted, tuple[bytes, ...]]] = []
        self.counts = Counts()

    def restore(self, partitions: Sequence[TopicPartition]) -> None:
        numbers = {place.partition for place in partitions}
        if not numbers:
            return
        fresh = {number: Seen(self._boots_max) for number in numbers}
        restore_seen(self._read(self._seen_topic, numbers, None, None), fresh)
        self._seen |= fresh
        since_ms = max(0, (self._now_us() - self._horizon.age_us_max) // 1000)
        events_max = self._horizon.events_max
        # Twice as many, because some have several revisions, and some are of other partitions.
        emitted = self._read(self._enriched, None, since_ms, 2 * events_max)
        for event in emitted_before(emitted, numbers, self._joiner, events_max):
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
        now_us = self._now_us()
        for message in messages:
            self._emission.batch(message, self._seen[message.partition() or 0], now_us, out)
        for number, seen in self._seen.items():
            out.extend(self._changelog(number, seen))
        return out

    def _changelog(self, number: int, seen: Seen) -> Iterator[Output]:
        for device_id, boot_id in seen.excess():
            yield Output(self._seen_topic, row_key((device_id, boot_id)).encode(), None, number)
        for device_id in seen.excess_ids():
            yield Output(self._seen_topic, row_key((device_id, "", "ids")).encode(), None, number)
        for (device_id, boot_id), ranges in seen.staged_ranges():
            key = row_key((device_id, boot_id))
            window = SeenWindow(
                key=key, device_id=device_id, boot_id=boot_id, ranges=ranges.edges, forgotten=ranges.forgotten
            )
            yield Output(self._seen_topic, key.encode(), window.SerializeToString(), number)
        for device_id, ids in seen.staged_ids():
            key = row_key((device_id, "", "ids"))
            window = SeenWindow(key=key, device_id=device_id, ids=ids)
            yield Output(self._seen_topic, key.encode(), window.SerializeToString(), number)

    def lag_s(self) -> float:
        """How long ago the batch joined last had been received."""
        return max(0, self._now_us() - self._emission.newest_received_us) / 1_000_000

    def has_due(self) -> bool:
        return self._horizon.has_suspects()

    def is_overdue(self) -> bool:
        """More events would push those out of the horizon that are still to be corrected."""
        return self._horizon.suspects_count > CORRECTIONS_MAX

    def due(self) -> list[Output]:
        out = []
        for event in self._horizon.suspects(CORRECTIONS_MAX):
            encoded = self._again(event)
            self._looked_at.append((event, encoded))
            if encoded != event.enrichments:
                self._emission.staged.corrections += 1
                revision = Event(revision=event.revision + 1).SerializeToString()
                out.append(Output(self._enriched, event.key, b"".join((event.base, *encoded, revision))))
        return out

    def _again(self, event: Emitted) -> tuple[bytes, ...]:
        """Its enrichments as they are now. That a table has forgotten a row's past is no reason to take it back."""
        answers = self._joiner.again(event.rows, event.t_us)
        encoded = tuple(
            said if answer.status is Status.HISTORY_EVICTED else answer.encoded
            for answer, said in zip(answers, event.enrichments, strict=True)
        )
        size = len(event.base) + sum(map(len, encoded))
        if size <= self._emission.bytes_max:
            return encoded
        logger.warning(
            "an event cannot be corrected: it would have %d bytes, at most %d fit", size, self._emission.bytes_max
        )
        return event.enrichments

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
        self.counts = self.counts + self._emission.staged
        self._emission.staged = Counts()

    def rolled_back(self) -> None:
        for seen in self._seen.values():
            seen.rollback()
        self._looked_at.clear()
        self._horizon.rollback()
        self._emission.staged = Counts()
