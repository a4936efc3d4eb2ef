"""One record of change data capture through the step: what is written where, and what is counted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import TopicPartition
from penstock.enrichment.intake.step import REJECTED, IntakeStep
from penstock.enrichment.tables import History, Table
from penstock.pipeline import loads
from penstock.tables.v1.rejected_change_pb2 import RejectedChange
from penstock.tables.v1.row_change_pb2 import OP_DELETE, OP_TRUNCATE, OP_UPSERT, RowChange
from penstock.topics import load, murmur2_partition

PIPELINE = loads(
    """
version: 1
tables:
  follows:
    about: Who follows whom.
    source: {debezium: {topic: cdc.follows}}
    key: [follower, author]
    columns: [since]
    partitioned_by: author
event_types:
  seen: {about: Something was seen.}
""",
    "test",
)
TOPICS = load().for_tables(PIPELINE.tables)
TABLE_TOPIC = TOPICS.kafka_name(TOPICS.tables["follows"])


@dataclass(frozen=True)
class Record:
    name: bytes | None
    content: bytes | None

    def topic(self) -> str:
        return "cdc.follows"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 4

    def key(self) -> bytes | None:
        return self.name

    def value(self) -> bytes | None:
        return self.content

    def timestamp(self) -> tuple[int, int]:
        return 1, 0


class Followed:
    """A follower whose tables are empty and complete."""

    def __init__(self) -> None:
        self.tables = {"follows": Table("follows", History(10, 10**15))}
        self.waited_for: list[Mapping[tuple[str, int], int]] = []

    def ends(self) -> dict[tuple[str, int], int]:
        return {(TABLE_TOPIC, 0): 3}

    def wait_until_holds(self, ends: Mapping[tuple[str, int], int]) -> None:
        self.waited_for.append(ends)


def step(followed: Followed | None = None) -> IntakeStep:
    return IntakeStep(pipeline=PIPELINE, topics=TOPICS, followed=followed or Followed(), now_us=lambda: 9)


def record(
    op: str, *, lsn: int = 7, after: dict[str, str] | None = None, before: dict[str, str] | None = None
) -> Record:
    row = after or before
    key = None if row is None else json.dumps({name: row[name] for name in ("follower", "author")}).encode()
    source = {"ts_us": 1_000_000 + lsn, "ts_ms": 1_000, "lsn": lsn, "snapshot": "false", "table": "follows", "db": "d"}
    value = {"op": op, "before": before, "after": after, "source": source, "ts_us": 1_000_500, "ts_ms": 1_000}
    return Record(key, json.dumps(value).encode())


ROW = {"follower": "ann", "author": "bob", "since": "2026"}


def test_a_row_goes_to_the_partition_of_the_column_it_is_joined_by() -> None:
    (output,) = step().process([record("c", after=ROW)])
    change = RowChange.FromString(output.value or b"")
    assert (output.topic, change.key, change.op, dict(change.columns)) == (
        TABLE_TOPIC,
        "ann/bob",
        OP_UPSERT,
        {"since": "2026"},
    )
    assert output.partition == murmur2_partition(b"bob", TOPICS[TOPICS.tables["follows"]].partitions)


def test_deletes_and_truncates() -> None:
    intake = step()
    outputs = [*intake.process([record("c", after=ROW), record("d", lsn=8, before=ROW), record("t", lsn=9)])]
    partitions = TOPICS[TOPICS.tables["follows"]].partitions
    kinds = [RowChange.FromString(one.value or b"").op for one in outputs]
    assert kinds == [OP_UPSERT, OP_DELETE] + [OP_TRUNCATE] * partitions
    assert [one.partition for one in outputs[2:]] == [*range(partitions)]  # every shard of a join has rows to drop
    counted = intake.outcomes()
    assert (counted["follows", "upsert"], counted["follows", "delete"], counted["follows", "truncate"]) == (1, 1, 1)


def test_poison_goes_to_the_dead_letters_and_the_rest_goes_on() -> None:
    intake = step()
    good = record("c", after=ROW)
    letter, row = intake.process([Record(good.name, b"{not json"), good])
    assert (letter.topic, row.topic) == (TOPICS.kafka_name(REJECTED), TABLE_TOPIC)
    rejected = RejectedChange.FromString(letter.value or b"")
    assert (rejected.source.topic, rejected.source.offset) == ("cdc.follows", 4)
    assert sum(count for (_, outcome), count in intake.outcomes().items() if outcome.startswith("refused_")) == 1


def test_partitions_are_taken_when_the_tables_hold_all_that_was_written_before() -> None:
    followed = Followed()
    step(followed).restore([TopicPartition("cdc.follows", 0)])
    assert followed.waited_for == [{(TABLE_TOPIC, 0): 3}]
    step(followed).restore([])
    assert len(followed.waited_for) == 1
