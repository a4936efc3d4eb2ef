"""Database changes in, row changes out: one step of a transactor.

In:  records of the Debezium topics that pipeline.yaml names.
Out: tables.<name>.v1, and changes.rejected.v1 for what cannot be read.
Nothing is kept here but what the translators remember of rows under way: all else is in the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from confluent_kafka import TopicPartition
from penstock.enrichment.intake import Position, TableRows, Translator, rejected_change
from penstock.enrichment.steps import Output, Record
from penstock.enrichment.tables import Table
from penstock.pipeline import Pipeline, key_values
from penstock.tables.v1.rejected_change_pb2 import ChangeRefusal
from penstock.tables.v1.row_change_pb2 import Op, RowChange
from penstock.topics import TopicMap, murmur2_partition

REJECTED = "changes.rejected.v1"


class Followed(Protocol):
    """What must be known of the follower: that it holds all that was written before we took over."""

    @property
    def tables(self) -> Mapping[str, Table]: ...
    def ends(self) -> dict[tuple[str, int], int]: ...
    def wait_until_holds(self, ends: Mapping[tuple[str, int], int]) -> None: ...


class IntakeStep:
    def __init__(self, *, pipeline: Pipeline, topics: TopicMap, followed: Followed, now_us: Callable[[], int]) -> None:
        self._tables = {table.debezium_topic: name for name, table in pipeline.tables.items() if table.debezium_topic}
        self._definitions = pipeline.tables
        self._topics = {name: topics.kafka_name(topics.tables[name]) for name in self._tables.values()}
        self._partitions = {name: topics[topics.tables[name]].partitions for name in self._tables.values()}
        self._rejected = topics.kafka_name(REJECTED)
        self._followed = followed
        self._now_us = now_us
        self.translators = {
            name: Translator(name, pipeline.tables[name], TableRows(followed.tables[name]))
            for name in self._tables.values()
        }

    @property
    def source_topics(self) -> list[str]:
        return [topic for topic in self._tables if topic is not None]

    def restore(self, partitions: Sequence[TopicPartition]) -> None:
        """What a translator must know of a row is in its table: wait until that is complete."""
        if partitions:
            self._followed.wait_until_holds(self._followed.ends())

    def forget(self, partitions: Sequence[TopicPartition]) -> None:
        """Nothing is kept per partition."""

    def must_wait(self, messages: Sequence[Record]) -> bool:  # noqa: ARG002 -- the step's signature
        """While so much is under way that the tables must catch up first: they do, between rounds."""
        return any(translator.is_full for translator in self.translators.values())

    def process(self, messages: Sequence[Record]) -> Iterator[Output]:
        for message in messages:
            yield from self._record(message)

    def _record(self, message: Record) -> Iterator[Output]:
        topic = message.topic() or ""
        name = self._tables[topic]
        position = Position(topic=topic, partition=message.partition() or 0, offset=message.offset() or 0)
        translation = self.translators[name].translate(message.key(), message.value(), position)
        for change in translation.changes:
            for partition in self._partitions_of(name, change):
                yield Output(self._topics[name], change.key.encode(), change.SerializeToString(), partition)
        if translation.refusal is not None:
            rejected = rejected_change(
                name, position, translation.refusal, message.key(), message.value(), self._now_us()
            )
            yield Output(self._rejected, name.encode(), rejected.SerializeToString())

    def _partitions_of(self, name: str, change: RowChange) -> Sequence[int]:
        """By the join column where the table has one: then a truncate, which is of all rows, is told to every shard."""
        subject, definition = change.key, self._definitions[name]
        if change.op == Op.OP_TRUNCATE:
            return (0,) if definition.partitioned_by is None else range(self._partitions[name])
        if definition.partitioned_by is not None:
            subject = key_values(change.key)[definition.key.index(definition.partitioned_by)]
        return (murmur2_partition(subject.encode(), self._partitions[name]),)

    def outcomes(self) -> dict[tuple[str, str], int]:
        """By (table, outcome), since the start."""
        found: dict[tuple[str, str], int] = {}
        for table, translator in self.translators.items():
            counts = translator.counts
            kinds = {"upsert": counts.upserts, "delete": counts.deletes, "truncate": counts.truncates}
            kinds |= {"column_unknown": counts.columns_unknown, "column_kept": counts.columns_kept}
            kinds |= {"column_absent": counts.columns_absent, "time_raised": counts.times_raised}
            kinds |= {"log_restarted": counts.log_restarts, "from_snapshot": counts.from_snapshot}
            kinds |= {f"skipped_{reason.value}": count for reason, count in counts.skipped.items()}
            kinds |= {f"refused_{_label(reason)}": count for reason, count in counts.refused.items()}
            found |= {(table, outcome): count for outcome, count in kinds.items()}
        return found

    def has_due(self) -> bool:
        return False

    def is_overdue(self) -> bool:
        return False

    def due(self) -> Iterator[Output]:
        return iter(())

    def committed(self) -> None:
        for translator in self.translators.values():
            translator.committed()

    def rolled_back(self) -> None:
        for translator in self.translators.values():
            translator.rolled_back()


def _label(reason: ChangeRefusal.ValueType) -> str:
    return ChangeRefusal.Name(reason).removeprefix("CHANGE_REFUSAL_").lower()
