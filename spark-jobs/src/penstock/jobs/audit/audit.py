"""Recomputes all timelines from the tables' logs and compares with what the service serves.

In:  the logs as far as they reach now, a running timeline service. Out: a report.
The service is asked with a token for exactly the offsets that the recomputation has seen. If writes go on meanwhile it
may be ahead of them: users who differ are compared again with newer logs, and only what stays different counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, TopicPartition
from penstock.events.v1.event_pb2 import ConsistencyToken, Position
from penstock.jobs.audit.definition import FOLLOW, POST, ROW, reader, timelines
from penstock.jobs.audit.report import FIRST_MAX, Report
from penstock.jobs.audit.serving import FOUND, comparer
from penstock.pipeline import Pipeline, Timeline
from penstock.topics import TopicMap
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sql

ASK_TIMEOUT_S = 30.0

Ends = Mapping[str, Sequence[int]]  # by table


@dataclass(frozen=True)
class Audit:
    spark: SparkSession
    pipeline: Pipeline
    timeline: Timeline
    topics: TopicMap
    kafka: Mapping[str, str]  # of librdkafka
    java: Mapping[str, str]
    server: str

    def run(self, rounds_max: int) -> Report:
        report = Report()
        found: list[Row] = []
        while report.rounds < rounds_max and (found or not report.rounds):
            report.rounds += 1
            found = self._round(report, sorted({row["user"] for row in found}))
        report.kinds.update(row["kind"] for row in found)
        report.first = [
            f"{row['user']}: {row['kind']} {row['author']}/{row['id']} {row['detail']}" for row in found[:FIRST_MAX]
        ]
        return report

    def _round(self, report: Report, users: list[str]) -> list[Row]:
        """What differs; of all users the first time, of these then."""
        ends = self._ends()
        rows = self._rows(ends).persist()
        expected = timelines(rows, self.timeline.capacity)
        if users:
            asked = self.spark.createDataFrame([(user,) for user in users], "user string")
            expected = expected.join(asked, "user")
        compared = expected.mapInPandas(
            comparer(self.server, self.timeline.capacity, self._token(ends)), FOUND
        ).persist()
        if not users:
            self._count(rows, compared, report)
        found = compared.where("kind <> ''").orderBy("user", "kind", "author", "id").collect()
        compared.unpersist()
        rows.unpersist()
        return found

    def _count(self, rows: DataFrame, compared: DataFrame, report: Report) -> None:
        known = {
            row["kind"]: row["count"]
            for row in rows.select("kind", "author", "id", "follower").distinct().groupBy("kind").count().collect()
        }
        (sums,) = compared.agg(sql.sum("users"), sql.sum("expected"), sql.sum("served")).collect()
        report.posts, report.follows = known.get(POST, 0), known.get(FOLLOW, 0)
        report.users, report.entries, report.served = (int(one or 0) for one in sums)

    def _ends(self) -> Ends:
        """Where the committed part of each log ends."""
        consumer = Consumer({**self.kafka, "group.id": "penstock-audit", "isolation.level": "read_committed"})
        try:
            return {
                table: [
                    consumer.get_watermark_offsets(TopicPartition(self._topic(table), number), ASK_TIMEOUT_S)[1]
                    for number in range(self.topics[self.topics.tables[table]].partitions)
                ]
                for table in (self.timeline.posts.table, self.timeline.follows.table)
            }
        finally:
            consumer.close()

    def _rows(self, ends: Ends) -> DataFrame:
        offsets = {self._topic(table): {str(n): end for n, end in enumerate(each)} for table, each in ends.items()}
        return (
            self.spark.read.format("kafka")
            .options(**{f"kafka.{name}": value for name, value in self.java.items()})
            .option("kafka.isolation.level", "read_committed")
            .option("subscribe", ",".join(offsets))
            .option("startingOffsets", "earliest")
            .option("endingOffsets", json.dumps(offsets))
            .load()
            .where("value is not null")
            .select("value")
            .mapInPandas(reader(self.pipeline), ROW)
        )

    def _token(self, ends: Ends) -> ConsistencyToken:
        return ConsistencyToken(
            positions=[
                Position(topic=self.topics.tables[table], partition=number, offset=end - 1)
                for table, each in ends.items()
                for number, end in enumerate(each)
                if end > 0
            ]
        )

    def _topic(self, table: str) -> str:
        return self.topics.kafka_name(self.topics.tables[table])
