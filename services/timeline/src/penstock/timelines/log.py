"""The logs that timelines are made from: our partitions of the deliveries, and the join's progress.

In:  partitions, and the offset to begin each at.
Out: records in order within each partition, committed ones only, and where each partition ends at the moment.
Guaranteed: no gap. A log that no longer has what was asked for is a RefusedStartError, never a later beginning.
Use from one thread: the client makes others wait for as long as one polls.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from penstock.timelines.errors import BrokenLogError, RefusedStartError
from penstock.topics.content import PASSING

logger = logging.getLogger(__name__)

TIMEOUT_S = 30.0
BATCH = 500


@dataclass(frozen=True, slots=True)
class Record:
    """`partition` is None for progress. `end`: no record, but there is none before this offset any more."""

    partition: int | None
    offset: int
    value: bytes | None = None
    key: bytes | None = None
    written_ms: int = 0
    end: bool = False


class Log:
    """`deliveries` and `progress` are topics' names in Kafka."""

    def __init__(self, kafka: Mapping[str, str], deliveries: str, progress: str) -> None:
        self._deliveries = deliveries
        self._progress = progress
        self._consumer = Consumer(_config(kafka), logger=logger)

    def spans(self, partitions: tuple[int, ...]) -> dict[int, tuple[int, int]]:
        """First and end offset of each of these."""
        return {number: self._span(TopicPartition(self._deliveries, number)) for number in partitions}

    def begin(self, starts: Mapping[int, int]) -> int:
        """Records come from these offsets on, and all of the progress. Where the progress ends at the moment."""
        first, end = self._span(TopicPartition(self._progress, 0))
        places = [TopicPartition(self._deliveries, number, offset) for number, offset in starts.items()]
        self._consumer.assign([*places, TopicPartition(self._progress, 0, first)])
        return end

    def poll(self, wait_s: float) -> list[Record]:
        """What has come."""
        first = self._consumer.poll(wait_s)
        if first is None:
            return []
        return [self._record(message) for message in (first, *self._consumer.consume(BATCH - 1, 0))]

    def end(self, partition: int) -> int:
        """As far as the client has heard; -1 if it has not."""
        place = TopicPartition(self._deliveries, partition)
        return max(-1, self._consumer.get_watermark_offsets(place, cached=True)[1])

    def _record(self, message: Message) -> Record:
        error, topic, offset = message.error(), message.topic(), message.offset() or 0
        partition = message.partition() if topic == self._deliveries else None
        if error is None:
            return Record(partition, offset, message.value(), message.key(), message.timestamp()[1])
        if error.name() == "_PARTITION_EOF":
            return Record(partition, offset, end=True)
        if error.name() == "_AUTO_OFFSET_RESET":
            raise RefusedStartError(gone(f"{topic}[{message.partition()}]", "further back than it reaches"))
        raise KafkaException(error)

    def _span(self, place: TopicPartition) -> tuple[int, int]:
        """A partition that was made a moment ago has no leader yet: asks again."""
        deadline = monotonic() + TIMEOUT_S
        while True:
            try:
                first, end = self._consumer.get_watermark_offsets(place, TIMEOUT_S)
            except KafkaException as error:
                if error.args[0].name() not in PASSING or monotonic() > deadline:
                    raise
                self._consumer.poll(0.05)  # nothing is assigned to it: gives the client time to look again
            else:
                return first, end


def gone(place: str, what: str) -> str:
    """The text of a refusal: what happened, and what to do."""
    return (
        f"{place} is needed {what}: deliveries were deleted (retention) before this replica applied them, and timelines"
        " made from the rest would lack posts. Nothing is served. To make all timelines anew from the tables: stop the"
        " join and all replicas, delete the topic of deliveries, start the replicas, and start the join with a new"
        " checkpoint, which is a new epoch (docs/runbook.md: start the join with a new checkpoint)."
    )


def value_of(record: Record) -> bytes:
    """A delivery without a value is none of ours."""
    if record.value is None:
        raise BrokenLogError(f"timeline.deliveries.v1[{record.partition}]@{record.offset} has no value")
    return record.value


def _config(kafka: Mapping[str, str]) -> dict[str, str | bool | int]:
    return {
        **kafka,
        "group.id": "penstock-timeline",  # librdkafka wants one; nothing is committed to it
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "fetch.queue.backoff.ms": 5,
        "fetch.wait.max.ms": 100,
        "queued.max.messages.kbytes": 65_536,
        "log.connection.close": False,
    }
