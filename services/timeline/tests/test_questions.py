from __future__ import annotations

import asyncio
import threading

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from penstock.embedded.broker import Kafka
from penstock.timelines.errors import Away
from penstock.timelines.questions import Committed, Ends, Shared
from penstock.topics import load
from penstock.topics.kafka import ensure


async def test_whoever_asks_while_one_is_under_way_gets_the_next_answer() -> None:
    asked, go_on = [0], threading.Event()

    def ask() -> int:
        asked[0] += 1
        number = asked[0]
        go_on.wait(30)
        return number

    shared = Shared(ask)
    first = asyncio.create_task(shared.answer())
    while not asked[0]:
        await asyncio.sleep(0.001)
    later = [asyncio.create_task(shared.answer()) for _ in range(50)]
    await asyncio.sleep(0)
    go_on.set()
    assert await first == 1
    assert await asyncio.gather(*later) == [2] * 50
    assert await shared.answer() == 3


async def test_one_that_stops_waiting_takes_nothing_from_the_others() -> None:
    go_on = threading.Event()
    shared = Shared(lambda: go_on.wait(30))
    waiting = [asyncio.create_task(shared.answer()) for _ in range(2)]
    await asyncio.sleep(0.01)
    waiting[0].cancel()
    go_on.set()
    assert await waiting[1]


async def test_kafka_that_does_not_answer_is_away() -> None:
    def ask() -> int:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    shared = Shared(ask)
    for _ in range(2):
        with pytest.raises(Away, match="Kafka does not answer"):
            await shared.answer()


def test_committed_offsets_and_ends_as_kafka_has_them(kafka: Kafka, topic_prefix: str) -> None:
    client = {"bootstrap.servers": kafka.bootstrap}
    topics = load().prefixed(topic_prefix)
    ensure(client, topics, names=["events.rejected.v1"])
    topic, group = topics.kafka_name("events.rejected.v1"), topic_prefix + "group"
    committed, ends = Committed(client, group, topic, 2), Ends(client, {topic: 2})
    assert committed() == [0, 0]
    assert ends() == {(topic, 0): 0, (topic, 1): 0}
    producer = Producer(client)
    for _ in range(3):
        producer.produce(topic, b"", partition=1)
    assert producer.flush(60) == 0
    consumer = Consumer({**client, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 1, 2)], asynchronous=False)
    consumer.close()
    assert committed() == [0, 2]
    assert ends() == {(topic, 0): 0, (topic, 1): 3}
