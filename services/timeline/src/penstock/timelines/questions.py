"""What only Kafka knows: how far enrichment has committed, where logs end.

In:  names of topics and groups, as Kafka knows them. Out: offsets, asked for in a thread.
Readers who wait share the questions: however many wait, one question of a kind is under way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from confluent_kafka import Consumer, IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # public, missing in __all__
from penstock.timelines.errors import Away

logger = logging.getLogger(__name__)

ASK_TIMEOUT_S = 10.0
Answer = TypeVar("Answer")
Places = Mapping[tuple[str, int], int]


class Shared(Generic[Answer]):
    """Asks once for all who want to know. Nobody gets an answer that was asked for before they came."""

    def __init__(self, ask: Callable[[], Answer]) -> None:
        self._ask = ask
        self._current: asyncio.Future[Answer] | None = None
        self._next: asyncio.Future[Answer] | None = None

    async def answer(self) -> Answer:
        """Raises Away when Kafka does not answer."""
        if self._next is None:
            self._next = asyncio.ensure_future(self._after(self._current))
        try:
            return await asyncio.shield(self._next)
        except KafkaException as error:
            raise Away(f"Kafka does not answer: {error.args[0].str()}", retry_after_ms=1_000) from error

    async def _after(self, current: asyncio.Future[Answer] | None) -> Answer:
        if current is not None:
            await asyncio.wait([current])
        self._current, self._next = self._next, None
        return await asyncio.to_thread(self._ask)


class Committed:
    """How far a group has come in a topic: the offset of the first record of each partition that it has not done."""

    def __init__(self, kafka: Mapping[str, str], group: str, topic: str, partitions: int) -> None:
        self._places = [TopicPartition(topic, number) for number in range(partitions)]
        self._consumer = Consumer({**kafka, "group.id": group, "enable.auto.commit": False}, logger=logger)

    def __call__(self) -> list[int]:
        answers = self._consumer.committed(self._places, ASK_TIMEOUT_S)
        return [max(place.offset, 0) for place in answers]


class Ends:
    """Where logs end, with what transactions that are still open hide. `topics`: how many partitions each has."""

    def __init__(self, kafka: Mapping[str, str], topics: Mapping[str, int]) -> None:
        self._places = [TopicPartition(name, number) for name, count in topics.items() for number in range(count)]
        self._client = AdminClient({"log_level": "2", **kafka})  # what it cannot do, others tell

    def __call__(self) -> Places:
        spec = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # not annotated there
        asked = self._client.list_offsets(
            dict.fromkeys(self._places, spec),
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=ASK_TIMEOUT_S,
        )
        return {(place.topic, place.partition): future.result().offset for place, future in asked.items()}
