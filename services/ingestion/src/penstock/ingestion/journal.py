"""Writes records to Kafka and says when Kafka holds them.

In:  records, from the event loop. Out: a future per record, done when the delivery report came.
Guaranteed: acks=all and idempotence, so a future with a result is durable and in order; bytes are counted from
send() to the report, so a Kafka that does not answer cannot fill our memory; every future ends (message.timeout.ms).
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from penstock.ingestion.errors import Busy, LogUnavailable
from penstock.ingestion.metrics import Metrics

logger = logging.getLogger(__name__)

POLL_S = 0.2


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
    """Use from one event loop only; a thread of its own serves librdkafka's callbacks."""

    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        inflight_bytes_max: int,
        metrics: Metrics,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._loop = loop
        self._metrics = metrics
        self._inflight_bytes = 0
        self._inflight_bytes_max = inflight_bytes_max
        metrics.inflight_bytes_max.set(inflight_bytes_max)
        self._broken: asyncio.Future[str] = loop.create_future()
        self._pending: set[asyncio.Future[Written]] = set()
        self._done: list[tuple[asyncio.Future[Written], int, Written | LogUnavailable]] = []
        self._producer = Producer({**config, "error_cb": self._on_error}, logger=logger)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve_reports, name="delivery-reports", daemon=True)
        self._thread.start()

    def admit(self, size: int) -> None:
        """Raises Busy if so many more bytes may not be under way now."""
        if self._inflight_bytes + size > self._inflight_bytes_max:
            raise Busy(
                f"{self._inflight_bytes:,} bytes wait for Kafka to confirm them; "
                f"at most {self._inflight_bytes_max:,} may; send this again later",
                retry_after_ms=500,
            )

    def send(self, topic: str, key: bytes, value: bytes) -> asyncio.Future[Written]:
        future: asyncio.Future[Written] = self._loop.create_future()
        size = len(value)
        report = partial(self._on_delivery, future, size, time.monotonic())
        try:
            self._producer.produce(topic, value=value, key=key, on_delivery=report)
        except BufferError as error:
            raise Busy("the producer's queue is full; send this again later", retry_after_ms=500) from error
        except KafkaException as error:
            raise LogUnavailable(f"Kafka client: {error}", retry_after_ms=2000) from error
        self._pending.add(future)
        self._inflight_bytes += size
        self._metrics.inflight_bytes.set(self._inflight_bytes)
        return future

    def _on_delivery(
        self,
        future: asyncio.Future[Written],
        size: int,
        sent: float,
        error: KafkaError | None,
        message: Message,
    ) -> None:
        """In the thread of the reports: only notes what happened."""
        outcome: Written | LogUnavailable
        if error is None:
            # A message that was delivered has all three; the types allow for those that were not.
            outcome = Written(message.topic() or "", message.partition() or 0, message.offset() or 0)
            self._metrics.produce_seconds.observe(time.monotonic() - sent)
        else:
            outcome = LogUnavailable(
                f"Kafka did not confirm the batch ({error.str()}); send it again with the same identities",
                retry_after_ms=1000,
            )
            self._metrics.produce_failures.labels(error.name()).inc()
        self._done.append((future, size, outcome))

    def _serve_reports(self) -> None:
        while not self._stopping.is_set():
            self._producer.poll(POLL_S)
            self._metrics.queue_messages.set(len(self._producer))
            if self._done:
                # One wake-up of the event loop for all reports of this round: waking costs more than a report.
                done, self._done = self._done, []
                self._loop.call_soon_threadsafe(self._finish, done)

    def _finish(self, done: list[tuple[asyncio.Future[Written], int, Written | LogUnavailable]]) -> None:
        for future, size, outcome in done:
            self._inflight_bytes -= size
            self._pending.discard(future)
            if isinstance(outcome, Written):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)
                future.exception()  # seen: whoever asked may have stopped waiting
        self._metrics.inflight_bytes.set(self._inflight_bytes)

    def _on_error(self, error: KafkaError) -> None:
        if error.code() == KafkaError._FATAL:
            self._loop.call_soon_threadsafe(self._break, error.str())
        else:
            logger.warning("kafka: %s", error.str())

    def _break(self, why: str) -> None:
        if not self._broken.done():
            self._broken.set_result(why)

    async def broken_by(self) -> str:
        """Waits until librdkafka finds that it can no longer keep its promises: the process has to be replaced."""
        return await asyncio.shield(self._broken)

    async def close(self, timeout_s: float) -> int:
        """Waits until Kafka holds what was sent; returns of how many records it did not say so."""
        if self._pending:
            await asyncio.wait(self._pending, timeout=timeout_s)
        self._stopping.set()
        await asyncio.to_thread(self._thread.join)
        return len(self._pending)
