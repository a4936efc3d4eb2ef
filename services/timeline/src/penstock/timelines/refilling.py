"""Sends refill requests to Kafka: the desk's hands.

In:  the partitions, after each round of the applier.
Out: records of timeline.refills.v1, each in its shard's partition.
Nothing is asked while a partition is far behind: the answer may be in the log already.
Use from one thread.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from time import monotonic

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from penstock.timelines.failpoints import Failpoint, no_failpoint
from penstock.timelines.held import Holdings
from penstock.timelines.metrics import Metrics
from penstock.timelines.refills import Counts, Desk, Told

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 0.1
LOOK_SHARE = 20  # of the time, at most one part in so many is spent on looking
BEHIND = 1_000  # records
DELIVERED_WITHIN_MS = 30_000


class Refilling:
    """`topic` is the name in Kafka."""

    def __init__(
        self,
        kafka: Mapping[str, str],
        topic: str,
        metrics: Metrics,
        *,
        outstanding_max: int,
        retry_s: float,
        record_bytes_max: int,
        failpoint: Failpoint = no_failpoint,
    ) -> None:
        self._topic = topic
        self._metrics = metrics
        self._failpoint = failpoint
        self._desk = Desk(self._send, outstanding_max, retry_s)
        self._told = Counts()
        self._next_look = 0.0
        self._broken: KafkaError | None = None
        self._producer = Producer(_config(kafka, record_bytes_max), logger=logger)

    def look(self, holdings: Holdings, now: float) -> None:
        """Raises if the producer can no longer keep its promises: only a new one can."""
        self._producer.poll(0)
        if self._broken is not None:
            raise KafkaException(self._broken)
        if now < self._next_look:
            return
        began = monotonic()
        for held in holdings:
            waits = held.partition.refilling > 0 or self._desk.waits(held.number)
            if waits and held.lag <= BEHIND:
                self._desk.look(held.number, held.partition.refills(), now)
        self._next_look = now + max(LOOK_EVERY_S, LOOK_SHARE * (monotonic() - began))
        self._count()

    def _send(self, shard: int, key: bytes, message: bytes, told: Told) -> None:
        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None and error.fatal():
                self._broken = error
            if error is not None:
                logger.warning("a refill request was not taken and is sent again: %s", error.str())
            told(error is None)

        self._producer.produce(self._topic, message, key, shard, on_delivery=delivered)
        self._failpoint("refill_asked")

    def _count(self) -> None:
        counts, told, metric = self._desk.counts, self._told, self._metrics.refills
        metric.labels("asked").inc(counts.asked - told.asked)
        metric.labels("answered").inc(counts.answered - told.answered)
        metric.labels("again").inc(counts.again - told.again)
        metric.labels("failed").inc(counts.failed - told.failed)
        self._told = Counts(counts.asked, counts.answered, counts.again, counts.failed)
        self._metrics.refills_outstanding.set(self._desk.outstanding)


def _config(kafka: Mapping[str, str], record_bytes_max: int) -> dict[str, str | int | bool]:
    return {
        **kafka,
        "acks": "all",
        "enable.idempotence": True,
        "compression.type": "zstd",
        "linger.ms": 5,
        "message.max.bytes": record_bytes_max,
        "message.timeout.ms": DELIVERED_WITHIN_MS,
        "queue.buffering.max.kbytes": 65_536,
        "log.connection.close": False,
    }
