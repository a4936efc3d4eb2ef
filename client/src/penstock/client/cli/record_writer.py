"""Writes records to Kafka one at a time.

In:  a record. Out: where it is, once all in-sync replicas have it; an error in words if they do not in time.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from penstock.client.cli.record import Submission
from penstock.client.cli.records import POLL_S, TIMEOUT_S, unanswered
from penstock.client.place import Place

_MESSAGE_BYTES_MAX = 8 << 20


class RecordWriter:
    """Writes one record at a time, and says where it is once all replicas have it. Use it as a context manager."""

    def __init__(self, bootstrap: str, *, timeout_s: float = TIMEOUT_S) -> None:
        self._bootstrap = bootstrap
        self._timeout_s = timeout_s
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "partitioner": "murmur2_random",
                "linger.ms": 0,
                "message.max.bytes": _MESSAGE_BYTES_MAX,
                "delivery.timeout.ms": int(timeout_s * 1000),
                "log_level": 0,  # what goes wrong is said once, in words
            }
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._producer.flush(self._timeout_s)

    def write(self, record: Submission) -> Place:
        """Returns when Kafka holds it."""
        reports: list[tuple[KafkaError | None, Message]] = []
        placed: dict[str, Any] = {} if record.partition is None else {"partition": record.partition}
        try:
            self._producer.produce(
                record.topic,
                value=record.value,
                key=record.key,
                headers=record.headers,
                on_delivery=lambda error, message: reports.append((error, message)),
                **placed,
            )
        except KafkaException as error:
            raise unanswered(self._bootstrap, self._timeout_s, error.args[0]) from error
        while not reports:  # ends: a record that is not confirmed is reported after delivery.timeout.ms
            self._producer.poll(POLL_S)
        fault, message = reports[0]
        if fault is not None:
            raise unanswered(self._bootstrap, self._timeout_s, fault)
        return Place(record.topic, message.partition() or 0, message.offset() or 0)
