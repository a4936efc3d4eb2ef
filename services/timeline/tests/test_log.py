"""Deliveries and progress on a real Kafka, read."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from penstock.embedded.broker import Kafka
from penstock.timelines.errors import RefusedStartError
from penstock.timelines.log import Log, Record
from penstock.topics import load
from penstock.topics.kafka import ensure

DELIVERIES, PROGRESS = "timeline.deliveries.v1", "timeline.progress.v1"


class Topics:
    def __init__(self, bootstrap: str, prefix: str) -> None:
        self.kafka = {"bootstrap.servers": bootstrap}
        self.topics = load().prefixed(prefix)
        ensure(self.kafka, self.topics, names=[DELIVERIES, PROGRESS])
        self.deliveries, self.progress = self.topics.kafka_name(DELIVERIES), self.topics.kafka_name(PROGRESS)

    def write(self, topic: str, partition: int, *values: bytes) -> None:
        producer = Producer(self.kafka)
        for value in values:
            producer.produce(topic, value, b"k", partition)
        assert producer.flush(60) == 0

    def log(self) -> Log:
        return Log(self.kafka, self.deliveries, self.progress)


@pytest.fixture
def topics(kafka: Kafka, topic_prefix: str) -> Topics:
    return Topics(kafka.bootstrap, topic_prefix)


def read(log: Log, count: int) -> list[Record]:
    """So many records, and the ends that came with them."""
    found: list[Record] = []
    while sum(not record.end for record in found) < count:
        found += log.poll(1.0)
    return found


def test_our_partitions_come_from_their_offsets_and_all_of_the_progress(topics: Topics) -> None:
    for partition in range(3):
        topics.write(topics.deliveries, partition, b"0", b"1", b"2")
    topics.write(topics.progress, 0, b"p")
    log = topics.log()
    assert log.spans((0, 2)) == {0: (0, 3), 2: (0, 3)}
    assert log.begin({0: 1, 2: 3}) == 1
    found = read(log, 3)
    records: list[Any] = [(one.partition, one.offset, one.value) for one in found if not one.end]
    assert sorted(records, key=str) == [(0, 1, b"1"), (0, 2, b"2"), (None, 0, b"p")]
    assert all(record.written_ms > 0 for record in found if not record.end)
    assert log.end(0) == 3
    topics.write(topics.deliveries, 2, b"3")
    assert [(one.partition, one.offset) for one in read(log, 1) if not one.end] == [(2, 3)]


def test_an_end_is_told(topics: Topics) -> None:
    topics.write(topics.deliveries, 0, b"0")
    log = topics.log()
    log.begin({0: 0, 1: 0})
    found: list[Record] = []
    while len({record.partition for record in found if record.end}) < 3:
        found += log.poll(1.0)
    ends = {(record.partition, record.offset) for record in found if record.end}
    assert ends == {(0, 1), (1, 0), (None, 0)}


def test_records_that_are_gone_are_not_passed_over(topics: Topics) -> None:
    topics.write(topics.deliveries, 0, b"0", b"1", b"2")
    admin = AdminClient({**topics.kafka})
    (deleted,) = admin.delete_records([TopicPartition(topics.deliveries, 0, 2)]).values()
    deleted.result(60)
    log = topics.log()
    assert log.spans((0,)) == {0: (2, 3)}
    log.begin({0: 1})
    with pytest.raises(RefusedStartError, match=r"deliveries were deleted \(retention\)"):
        read(log, 2)
