"""Reads a topic as any consumer would: from the beginning, committed records only.

In:  a topic's name on the map. Out: every record's value, handed on in the thread of the event loop.
"""

import asyncio
import logging
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from penstock.topics import load
from penstock.topics.kafka import LiveTopic, describe

_RECORDS_PER_POLL = 500
_POLL_S = 0.05
_END = "_PARTITION_EOF"


class LogReader:
    """Only Kafka's library waits in another thread."""

    def __init__(self, bootstrap: str, topic: str, take: Callable[[bytes], None]) -> None:
        self._config = {"bootstrap.servers": bootstrap}
        self._topics, self._topic = load(), topic
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
        return describe(self._config, self._topics, names=[self._topic])[0]

    def _is_done(self) -> bool:
        ends = self._ends
        return ends is not None and all(self._reached.get(number, 0) >= end for number, end in ends.items())

    def _read(self, message: Message) -> None:
        error, partition, offset, value = message.error(), message.partition(), message.offset(), message.value()
        if error is not None and error.name() != _END:
            raise KafkaException(error)
        if partition is None or offset is None:
            return
        if error is not None:  # what is last may be a transaction's marker, which is never handed out
            self._reached[partition] = max(offset, self._reached.get(partition, 0))
            return
        if value is not None:
            self._take(value)
        self._reached[partition] = offset + 1


def _consumer(config: dict[str, str]) -> Consumer:
    silent = logging.Logger("penstock.demo.librdkafka")  # a broker that dies is reported by its supervisor
    silent.addHandler(logging.NullHandler())
    settings = {
        **config,
        "group.id": "penstock-demo",  # the library wants one; it is neither joined nor committed to
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        "fetch.queue.backoff.ms": 5,
        "fetch.wait.max.ms": 100,
    }
    return Consumer(settings, logger=silent)
