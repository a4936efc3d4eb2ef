"""What a transactor reads and writes, and what it runs: a step, which knows nothing of Kafka but records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from confluent_kafka import TopicPartition


class Output(NamedTuple):
    """A record to write. Without a partition, the key chooses it (murmur2, as everywhere)."""

    topic: str
    key: bytes | None
    value: bytes | None
    partition: int | None = None


class Record(Protocol):
    """A record that was read: what we need of confluent_kafka's Message."""

    def topic(self) -> str | None: ...
    def partition(self) -> int | None: ...
    def offset(self) -> int | None: ...
    def key(self) -> bytes | None: ...
    def value(self) -> bytes | None: ...
    def timestamp(self) -> tuple[int, int]: ...


class Step(Protocol):
    """What a transactor runs. None of it may touch Kafka but restore()."""

    def restore(self, partitions: Sequence[TopicPartition]) -> None:
        """Input partitions are ours from now on: bring their state back from the log."""

    def forget(self, partitions: Sequence[TopicPartition]) -> None:
        """They are no longer ours."""

    def must_wait(self, messages: Sequence[Record]) -> bool:
        """Whether it is too early for these records. Bounded: the step says when no longer."""

    def process(self, messages: Sequence[Record]) -> Iterable[Output]:
        """What follows from these records. State changes are staged."""

    def due(self) -> Iterable[Output]:
        """What has become due without input. State changes are staged."""

    def has_due(self) -> bool: ...

    def is_overdue(self) -> bool:
        """Whether so much is due that it goes before more input."""

    def committed(self) -> None:
        """The transaction is in the log: what was staged is so."""

    def rolled_back(self) -> None:
        """It is not: nothing happened. restore() follows."""
