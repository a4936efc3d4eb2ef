"""Reads the log as any consumer would, corrects times from what it finds there, and compares them with the truth.

In:  records of events.raw.v1, committed ones only. Out: the ledger, the accuracy and the sightings, kept up to date.
It knows nothing of a batch but its bytes. Events of devices that are not of the fleet are shown, and not judged.
"""

import asyncio
import logging
from collections.abc import Callable, Container

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from penstock.clock import Corrected, batch_clock, correct_event
from penstock.demo.accuracy import Accuracy
from penstock.demo.ledger import Identity, Ledger
from penstock.demo.sightings import Sighting, Sightings
from penstock.events.v1.event_pb2 import Event
from penstock.events.v1.raw_batch_pb2 import RawBatchView
from penstock.topics import load
from penstock.topics.kafka import LiveTopic, describe

RAW = "events.raw.v1"
_RECORDS_PER_POLL = 100
_POLL_S = 0.1


class Observer:
    """`is_ours` says whether a device is one of the fleet's."""

    def __init__(
        self,
        ledger: Ledger,
        accuracy: Accuracy,
        sightings: Sightings,
        *,
        is_ours: Callable[[str], bool],
        now_us: Callable[[], int],
    ) -> None:
        self._ledger, self._accuracy, self._sightings = ledger, accuracy, sightings
        self._is_ours, self._now_us = is_ours, now_us

    def take(self, record: bytes) -> None:
        """One record of the log."""
        batch = RawBatchView.FromString(record)
        clock, refused = batch_clock(batch.sent, batch.stamp), frozenset(batch.stamp.refused)
        for event in accepted_events(batch, refused):
            self._judge(batch, event, correct_event(event, clock, batch.boot_id))

    def _judge(self, batch: RawBatchView, event: Event, corrected: Corrected) -> None:
        is_ours, claimed_us = self._is_ours(batch.device_id), event.occurred.wall_us
        self._sightings.offer(
            Sighting(
                corrected.corrected_us,
                corrected.error_bound_us,
                corrected.method,
                claimed_us,
                event.type,
                batch.device_id,
                not is_ours,
            ),
            self._now_us(),
        )
        if not is_ours:
            return
        true_us = self._ledger.read(Identity(batch.device_id, event.boot_id or batch.boot_id, event.seq))
        if true_us is not None:
            self._accuracy.add(
                true_us,
                occurred_us=claimed_us,
                sent_us=batch.sent.wall_us,
                received_us=batch.stamp.received_us,
                corrected=corrected,
            )


def accepted_events(batch: RawBatchView, refused: Container[int]) -> list[Event]:
    """The others are in the log, but they are not events."""
    return [Event.FromString(raw) for index, raw in enumerate(batch.events) if index not in refused]


class LogReader:
    """Hands every record from the beginning on to `take`, in this thread; only Kafka's library waits in another."""

    def __init__(self, bootstrap: str, take: Callable[[bytes], None]) -> None:
        self._config = {"bootstrap.servers": bootstrap}
        self._topics = load()
        self._take = take
        self._reached: dict[int, int] = {}
        self._ends: dict[int, int] | None = None

    async def run(self) -> None:
        """Reads until `finish` has said where the end is, and that is reached."""
        topic = await asyncio.to_thread(self._describe)
        consumer = _consumer(self._config)
        try:
            consumer.assign([TopicPartition(topic.kafka_name, part.number, part.first) for part in topic.partitions])
            while not self._is_done():
                for message in await asyncio.to_thread(consumer.consume, _RECORDS_PER_POLL, _POLL_S):
                    self._read(message)
        finally:
            await asyncio.to_thread(consumer.close)

    async def finish(self) -> None:
        """What the log holds now is to be read; then `run` ends."""
        topic = await asyncio.to_thread(self._describe)
        self._ends = {part.number: part.end for part in topic.partitions if part.end > part.first}

    def _describe(self) -> LiveTopic:
        return describe(self._config, self._topics, names=[RAW])[0]

    def _is_done(self) -> bool:
        ends = self._ends
        return ends is not None and all(self._reached.get(number, 0) >= end for number, end in ends.items())

    def _read(self, message: Message) -> None:
        error, partition, offset, value = message.error(), message.partition(), message.offset(), message.value()
        if error is not None:
            raise KafkaException(error)
        if value is not None and partition is not None and offset is not None:
            self._take(value)
            self._reached[partition] = offset + 1


def _consumer(config: dict[str, str]) -> Consumer:
    silent = logging.Logger("penstock.demo.librdkafka")  # a broker that dies is reported by its supervisor
    silent.addHandler(logging.NullHandler())
    settings = {
        **config,
        "group.id": "penstock-demo",  # the library wants one; it is neither joined nor committed to
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "fetch.queue.backoff.ms": 5,
    }
    return Consumer(settings, logger=silent)
