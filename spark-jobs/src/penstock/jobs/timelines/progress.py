"""Tells Kafka how far the join has come, so that whoever reads a timeline can wait for a write.

In:  Spark's progress of the query, after each batch. Out: a JoinProgress record on timeline.progress.v1.
By the time Spark tells of a batch, all of its deliveries are acknowledged: where the topic of deliveries ends then, the
batch is in it. A telling that is lost (Kafka away, the driver killed) is made up for by the next one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from penstock.events.v1.event_pb2 import Position
from penstock.jobs.listener import offsets
from penstock.jobs.timelines.query import DELIVERIES, NAME
from penstock.timeline.v1.delivery_pb2 import JoinProgress
from penstock.topics import TopicMap

logger = logging.getLogger(__name__)

TOPIC = "timeline.progress.v1"
TIMEOUT_S = 10.0


class ProgressTeller:
    def __init__(self, kafka: Mapping[str, str], topics: TopicMap, started_us: int, failed: Callable[[], None]) -> None:
        self._started_us = started_us
        self._topics = topics
        self._failed = failed
        self._asker = Consumer({**kafka, "group.id": "penstock-timelines-progress"}, logger=logger)  # commits nothing
        self._producer = Producer(
            {**kafka, "enable.idempotence": True, "linger.ms": 0, "delivery.timeout.ms": int(TIMEOUT_S * 1000)},
            logger=logger,
        )

    def tell(self, progress: Mapping[str, Any]) -> None:
        try:
            record = progress_of(progress, self._ends(), self._topics, self._started_us)
            self._producer.produce(
                self._topics.kafka_name(TOPIC), record.SerializeToString(), NAME.encode(), on_delivery=self._told
            )
            self._producer.poll(0)
        except (KafkaException, BufferError) as error:
            self._failed()
            logger.warning("the progress of batch %s is not told: %s", progress.get("batchId"), error)

    def _ends(self) -> list[int]:
        name = self._topics.kafka_name(DELIVERIES)
        places = [TopicPartition(name, number) for number in range(self._topics[DELIVERIES].partitions)]
        return [self._asker.get_watermark_offsets(place, TIMEOUT_S)[1] for place in places]

    def _told(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._failed()


def progress_of(progress: Mapping[str, Any], ends: list[int], topics: TopicMap, started_us: int) -> JoinProgress:
    """Positions name topics as the map does, and the last offset that is included."""
    names = {topics.kafka_name(name): name for name in topics.topics}
    record = JoinProgress(query=NAME, batch=int(progress["batchId"]), started_us=started_us)
    for source in progress["sources"]:
        for topic, read in offsets(source["endOffset"]).items():
            for partition, end in sorted(read.items()):
                if end > 0:
                    record.reflects.append(Position(topic=names[topic], partition=partition, offset=end - 1))
    for partition, end in enumerate(ends):
        if end > 0:
            record.delivered.append(Position(topic=DELIVERIES, partition=partition, offset=end - 1))
    return record
