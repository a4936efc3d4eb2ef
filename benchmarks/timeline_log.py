"""Kafka as bench-timeline uses it: writes rows to the tables' topics, and asks how far the join has come.

In:  rows. Out: records in the log (acks=all); where topics end; the join's own word on what deliveries reflect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from penstock.timeline.v1.delivery_pb2 import JoinProgress
from timeline_data import FOLLOWS, PARTITIONS, POSTS, Row

TIMEOUT_S = 60.0
PROGRESS = "timeline.progress.v1"

Ends = Mapping[tuple[str, int], int]  # by topic and partition


class Writer:
    def __init__(self, bootstrap: str) -> None:
        self._failures: list[KafkaError] = []
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                "compression.type": "lz4",
                "linger.ms": 5,
                "delivery.report.only.error": True,
                "queue.buffering.max.messages": 500_000,
                "queue.buffering.max.kbytes": 512_000,
            }
        )

    def write(self, rows: Iterable[Row]) -> int:
        """Returns when all of them are durable; how many they were."""
        count = 0
        for row in rows:
            self._put(row)
            count += 1
        left = self._producer.flush(TIMEOUT_S)
        if left or self._failures:
            raise SystemExit(f"{left + len(self._failures)} of {count} rows could not be written: {self._failures[:1]}")
        return count

    def close(self) -> None:
        self._producer.close()

    def _put(self, row: Row) -> None:
        while True:
            try:
                self._producer.produce(
                    row.topic, row.value, row.key, partition=row.partition, on_delivery=self._delivered
                )
            except BufferError:
                self._producer.poll(0.05)
            else:
                return

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._failures.append(error)


class JoinLog:
    """The ends of the tables' topics, and the newest record of the join's progress."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "bench",  # librdkafka wants one; nothing is committed to it
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 10,
            }
        )
        self._consumer.assign([TopicPartition(PROGRESS, 0, 0)])
        self._reflects: dict[tuple[str, int], int] = {}
        self.delivered: dict[int, int] = {}  # the end of each partition of deliveries when the join last told

    def ends(self) -> Ends:
        return {
            (topic, number): self._consumer.get_watermark_offsets(TopicPartition(topic, number), TIMEOUT_S)[1]
            for topic in (POSTS, FOLLOWS)
            for number in range(PARTITIONS)
        }

    def reflects(self, ends: Ends) -> bool:
        """Whether deliveries reflect all that stands before these ends."""
        message = self._consumer.poll(0)
        if message is not None and message.error() is None:
            told = JoinProgress.FromString(message.value() or b"")
            self._reflects = {(place.topic, place.partition): place.offset + 1 for place in told.reflects}
            self.delivered = {place.partition: place.offset + 1 for place in told.delivered}
        return all(self._reflects.get(place, 0) >= end for place, end in ends.items())

    def close(self) -> None:
        self._consumer.close()
