"""Kafka as bench-enrich uses it: writes records at once, and asks how far a group has come.

In:  records, or the name of a group and a topic. Out: records in the log (acks=all), offsets.
Partitions are chosen by key as everywhere in penstock; every topic asked about here has the same number of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but missing from its __all__
    AdminClient,
    NewTopic,
)

TIMEOUT_S = 60.0
PARTITIONS = 8
ERRORS = 3  # of librdkafka's log: no notes about clients that are closed


class Record(NamedTuple):
    key: bytes
    value: bytes


class Log:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._failures: list[KafkaError] = []
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                "partitioner": "murmur2_random",
                "compression.type": "lz4",
                "linger.ms": 5,
                "message.max.bytes": 8 << 20,
                "queue.buffering.max.messages": 500_000,
                "queue.buffering.max.kbytes": 512_000,
            }
        )
        self._groups: dict[str, Consumer] = {}

    def create(self, *topics: str, partitions: int = PARTITIONS) -> None:
        client = AdminClient({"bootstrap.servers": self._bootstrap, "log_level": ERRORS})
        for made in client.create_topics([NewTopic(topic, partitions) for topic in topics]).values():
            made.result()

    def write(self, topic: str, records: Iterable[Record]) -> None:
        """Returns when all of them are durable."""
        for record in records:
            self._put(topic, record)
        left = self._producer.flush(TIMEOUT_S)
        if left or self._failures:
            raise SystemExit(f"{left + len(self._failures)} records could not be written to {topic}")

    def ends(self, topic: str) -> list[int]:
        """Where each partition ends."""
        consumer = self._of_group("bench")
        return [
            consumer.get_watermark_offsets(TopicPartition(topic, number), TIMEOUT_S)[1] for number in range(PARTITIONS)
        ]

    def committed(self, group: str, topic: str) -> list[int]:
        """How far the group has come in each partition."""
        asked = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        return [max(0, place.offset) for place in self._of_group(group).committed(asked, TIMEOUT_S)]

    def close(self) -> None:
        self._producer.close()
        for consumer in self._groups.values():
            consumer.close()

    def _of_group(self, group: str) -> Consumer:
        """One that never subscribes, and so is no member."""
        if group not in self._groups:
            self._groups[group] = Consumer({"bootstrap.servers": self._bootstrap, "group.id": group})
        return self._groups[group]

    def _put(self, topic: str, record: Record) -> None:
        while True:
            try:
                self._producer.produce(topic, record.value, key=record.key, on_delivery=self._delivered)
            except BufferError:
                self._producer.poll(0.05)
            else:
                return

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._failures.append(error)
