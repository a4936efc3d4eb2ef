"""Records of Kafka by their place: one, or a topic's newest first.

In:  librdkafka's address of Kafka, names of topics in Kafka.
Out: committed records. Joins no consumer group and commits nothing: looking changes nothing.
Bounded: a topic is read backwards in spans, so that the newest records cost the same however many lie before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from heapq import merge
from time import monotonic
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from penstock.client.cli.record import Record
from penstock.client.place import Place
from penstock.topics.errors import KafkaUnreachableError

TIMEOUT_S = 10.0
POLL_S = 0.2
_SPAN_MIN, _SPAN_MAX = 64, 1_024


class RecordsError(Exception):
    """There is no such record, or Kafka would not give or take it."""


class Records:
    """Reads. Use it as a context manager."""

    def __init__(self, bootstrap: str, *, timeout_s: float = TIMEOUT_S) -> None:
        self._bootstrap = bootstrap
        self._timeout_s = timeout_s
        self._known: dict[str, frozenset[int]] = {}
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "penstock-records",  # the library wants one; it is neither joined nor committed to
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 50,
                "fetch.queue.backoff.ms": 5,
                "queued.max.messages.kbytes": 16_384,
                "log_level": 0,  # what goes wrong is said once, in words
            }
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.close()

    def has(self, topic: str) -> bool:
        """Whether Kafka has such a topic."""
        return bool(self._partitions(topic))

    def at(self, place: Place) -> Record | None:
        """One record; None where Kafka does not have it (any more)."""
        if place.partition not in self._partitions(place.topic):
            return None
        first, end = self._ends(place.topic, place.partition)
        if not first <= place.offset < end:
            return None
        found = self._span(place.topic, place.partition, place.offset, place.offset + 1)
        return found[0] if found else None

    def newest_first(self, topic: str, since_ms: int | None = None) -> Iterator[Record]:
        """The topic's records by their times, backwards; those that came since a time, or all."""
        spans = {number: self._ends(topic, number) for number in self._partitions(topic)}
        if since_ms is not None and spans:
            spans = self._later(topic, spans, since_ms)
        backwards = [self._backwards(topic, number, first, end) for number, (first, end) in spans.items()]
        yield from merge(*backwards, key=lambda record: -record.time_ms)

    def _partitions(self, topic: str) -> frozenset[int]:
        """Asks once per topic: whoever uses this does not live long. Empty: there is no such topic."""
        if topic not in self._known:
            with self._in_words():
                found = self._consumer.list_topics(topic, timeout=self._timeout_s).topics[topic]
                if found.error is not None and found.error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise KafkaException(found.error)
                self._known[topic] = frozenset(found.partitions)
        return self._known[topic]

    def _ends(self, topic: str, partition: int) -> tuple[int, int]:
        """The offsets that a partition holds: from the first to before the second."""
        with self._in_words():
            first, end = self._consumer.get_watermark_offsets(TopicPartition(topic, partition), self._timeout_s)
            return first, end

    def _later(self, topic: str, spans: dict[int, tuple[int, int]], since_ms: int) -> dict[int, tuple[int, int]]:
        asked = [TopicPartition(topic, number, max(0, since_ms)) for number in spans]
        with self._in_words():
            firsts = {found.partition: found.offset for found in self._consumer.offsets_for_times(asked, TIMEOUT_S)}
        # -1: all are older.
        return {number: (firsts[number] if firsts[number] >= 0 else end, end) for number, (_, end) in spans.items()}

    def _backwards(self, topic: str, partition: int, first: int, end: int) -> Iterator[Record]:
        size = _SPAN_MIN
        while end > first:
            start = max(first, end - size)
            yield from reversed(self._span(topic, partition, start, end))
            end, size = start, min(_SPAN_MAX, size * 2)

    def _span(self, topic: str, partition: int, start: int, end: int) -> list[Record]:
        """The records from `start` up to `end`; fewer where compaction and transactions left gaps."""
        found: list[Record] = []
        with self._in_words():
            self._consumer.assign([TopicPartition(topic, partition, start)])
            heard = monotonic()
            while True:
                message = self._consumer.poll(POLL_S)
                if message is None:
                    if monotonic() - heard > self._timeout_s:
                        raise KafkaUnreachableError(self._bootstrap, self._timeout_s, f"nothing came from {topic}")
                    continue
                heard = monotonic()
                offset = _offset(message)
                if offset is None or offset >= end:  # the end may be a transaction's marker, which is never delivered
                    return found
                found.append(_record(message))
                if offset == end - 1:
                    return found

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except KafkaException as error:
            raise unanswered(self._bootstrap, self._timeout_s, error.args[0]) from error


def _offset(message: Message) -> int | None:
    """None: the partition ends here."""
    error = message.error()
    if error is None:
        return message.offset()
    if error.code() == KafkaError._PARTITION_EOF:
        return None
    raise KafkaException(error)


def _record(message: Message) -> Record:
    place = Place(message.topic() or "", message.partition() or 0, message.offset() or 0)
    headers = message.headers() or []
    listed = list(headers.items()) if isinstance(headers, dict) else headers
    return Record(place, message.timestamp()[1], message.key(), message.value(), listed)


def unanswered(bootstrap: str, timeout_s: float, cause: KafkaError) -> Exception:
    """What Kafka or its client said, in words."""
    silent = {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT, KafkaError._MSG_TIMED_OUT}
    if cause.code() in silent:
        return KafkaUnreachableError(bootstrap, timeout_s, cause.str())
    return RecordsError(f"Kafka at {bootstrap}: {cause.str()}")
