"""Writes records to Kafka and says when Kafka holds them.

In:  records, from the event loop. Out: a future per record, done when the delivery report came.
Guaranteed: acks=all and idempotence, so a future with a result is durable and in order; bytes are counted from
send() to the report, so a Kafka that does not answer cannot fill our memory; every future ends (message.timeout.ms).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from penstock.ingestion.errors import Busy, LogUnavailable
from penstock.ingestion.metrics import Metrics

logger = logging.getLogger(__name__)

FETCH_S = 0.001
IDLE_FETCH_S = 0.25  # nothing is awaited, but librdkafka may have to say that it lost its brokers


@dataclass(frozen=True, slots=True)
class Written:
    """Where a record stands."""

    topic: str
    partition: int
    offset: int


def producer_config(
    kafka: Mapping[str, str], *, record_bytes_max: int, inflight_bytes_max: int, timeout_s: float
) -> dict[str, Any]:
    return {
        "acks": "all",
        "enable.idempotence": True,
        "partitioner": "murmur2_random",  # librdkafka's default is not Java's
        "compression.type": "lz4",
        "linger.ms": 1,
        "message.max.bytes": record_bytes_max,
        "batch.size": max(1 << 20, record_bytes_max),
        "message.timeout.ms": int(timeout_s * 1000),
        # Our own budget refuses first; this one must only never be the smaller.
        "queue.buffering.max.kbytes": max(1 << 15, inflight_bytes_max // 512),
        "queue.buffering.max.messages": 1_000_000,
        "retry.backoff.ms": 50,
        "retry.backoff.max.ms": 1000,
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 2000,
        "socket.keepalive.enable": True,
        "log.connection.close": False,
        **kafka,
    }


class Journal:
    """Use from one event loop only.

    librdkafka's reports are fetched by the event loop itself, every FETCH_S while any is awaited. A thread that waits
    for them and wakes the loop costs 0.2 ms per record on a loaded core (two switches of the interpreter's lock).
    """

    def __init__(
        self, config: Mapping[str, Any], *, inflight_bytes_max: int, metrics: Metrics, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._loop = loop
        self._metrics = metrics
        self._inflight_bytes = 0
        self._inflight_bytes_max = inflight_bytes_max
        metrics.inflight_bytes_max.set(inflight_bytes_max)
        self._broken: asyncio.Future[str] = loop.create_future()
        self._all_reported = asyncio.Event()
        self._all_reported.set()
        self._unreported = 0
        self._producer = Producer({**config, "error_cb": self._on_error}, logger=logger)
        self._next_fetch = loop.call_later(IDLE_FETCH_S, self._fetch)

    def admit(self, size: int) -> None:
        """Raises Busy if so many more bytes may not be under way now."""
        if self._inflight_bytes + size > self._inflight_bytes_max:
            raise Busy(
                f"{self._inflight_bytes:,} bytes wait for Kafka to confirm them; "
                f"at most {self._inflight_bytes_max:,} may; send this again later",
                retry_after_ms=500,
            )

    def send(self, topic: str, key: bytes, value: bytes) -> asyncio.Future[Written]:
        """Cancel the future to stop waiting; the record goes its way."""
        future: asyncio.Future[Written] = self._loop.create_future()
        size = len(value)
        report = partial(self._on_delivery, future, size, time.monotonic())
        try:
            self._producer.produce(topic, value=value, key=key, on_delivery=report)
        except BufferError as error:
            raise Busy("the producer's queue is full; send this again later", retry_after_ms=500) from error
        except KafkaException as error:
            raise LogUnavailable(f"Kafka client: {error}", retry_after_ms=2000) from error
        if not self._unreported:
            self._all_reported.clear()
            self._next_fetch.cancel()
            self._next_fetch = self._loop.call_later(FETCH_S, self._fetch)
        self._unreported += 1
        self._inflight_bytes += size
        self._metrics.inflight_bytes.set(self._inflight_bytes)
        return future

    def _fetch(self) -> None:
        self._producer.poll(0)
        self._metrics.queue_messages.set(len(self._producer))
        self._next_fetch = self._loop.call_later(FETCH_S if self._unreported else IDLE_FETCH_S, self._fetch)

    def _on_delivery(
        self, future: asyncio.Future[Written], size: int, sent: float, error: KafkaError | None, message: Message
    ) -> None:
        self._inflight_bytes -= size
        self._metrics.inflight_bytes.set(self._inflight_bytes)
        self._unreported -= 1
        if not self._unreported:
            self._all_reported.set()
        if error is None:
            self._metrics.produce_seconds.observe(time.monotonic() - sent)
        else:
            self._metrics.produce_failures.labels(error.name()).inc()
        if future.done():  # cancelled: whoever asked has stopped waiting
            return
        if error is None:
            # A message that was delivered has all three; the types allow for those that were not.
            future.set_result(Written(message.topic() or "", message.partition() or 0, message.offset() or 0))
        else:
            future.set_exception(
                LogUnavailable(
                    f"Kafka did not confirm the batch ({error.str()}); send it again with the same identities",
                    retry_after_ms=1000,
                )
            )

    def _on_error(self, error: KafkaError) -> None:
        if error.code() != KafkaError._FATAL:
            logger.warning("kafka: %s", error.str())
        elif not self._broken.done():
            self._broken.set_result(error.str())

    async def broken_by(self) -> str:
        """Waits until librdkafka finds that it can no longer keep its promises: the process has to be replaced."""
        return await asyncio.shield(self._broken)

    async def close(self, timeout_s: float) -> int:
        """Waits until Kafka holds what was sent; returns of how many records it did not say so."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._all_reported.wait()
        self._next_fetch.cancel()
        return self._unreported
