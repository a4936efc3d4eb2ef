"""The streaming query: tables in, deliveries out.

In:  tables of posts and follows and refill requests, all of them partitioned by author: a partition is a shard.
Out: timeline.deliveries.v1, at least once and in order per shard; readers drop what they have.
"""

from __future__ import annotations

import time

from penstock.jobs.job import Context
from penstock.jobs.timelines.changes import FOLLOWS, POSTS, REFILLS
from penstock.jobs.timelines.processor import OUTPUT, JoinProcessor, Settings
from penstock.jobs.timelines.shard import Shape
from penstock.pipeline import Timeline
from penstock.topics import TopicMap
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.streaming.query import StreamingQuery

NAME = "timelines"
DELIVERIES, REFILLS_TOPIC = "timeline.deliveries.v1", "timeline.refills.v1"


def inputs(topics: TopicMap, timeline: Timeline) -> dict[str, int]:
    """What is read, by its name in Kafka, and what its records are."""
    return {
        topics.kafka_name(topics.tables[timeline.posts.table]): POSTS,
        topics.kafka_name(topics.tables[timeline.follows.table]): FOLLOWS,
        topics.kafka_name(REFILLS_TOPIC): REFILLS,
    }


def start(context: Context) -> StreamingQuery:
    timeline = context.pipeline.timeline
    if timeline is None:
        raise ValueError("the job timelines needs the section `timeline:` of pipeline.yaml")
    kinds = inputs(context.topics, timeline)
    deliveries = context.topics[DELIVERIES]
    settings = Settings(
        query=context.checkpoint(NAME),
        pipeline=context.pipeline,
        shape=Shape(deliveries.partitions, timeline.capacity + timeline.slack, timeline.merge_at_read_above),
        epoch=time.time_ns() // 1000,
    )
    return (
        context.read(list(kinds))
        .select("partition", _kind(kinds).alias("kind"), "value")
        .transform(joined, settings)
        .observe(NAME, sql.sum("entries").alias("entries"), sql.sum("unreadable").alias("unreadable"))
        .where("value is not null")
        .select(
            sql.col("timeline_partition").alias("partition"),
            sql.col("timeline_partition").cast("string").cast("binary").alias("key"),
            "value",
        )
        .writeStream.queryName(NAME)
        .format("kafka")
        .options(**context.sink_options(deliveries.max_message_bytes))
        .option("topic", context.topics.kafka_name(DELIVERIES))
        .option("checkpointLocation", context.checkpoint(NAME))
        .outputMode("update")
        .start()
    )


def joined(changes: DataFrame, settings: Settings) -> DataFrame:
    return changes.groupBy("partition").transformWithStateInPandas(
        JoinProcessor(settings), outputStructType=OUTPUT, outputMode="update", timeMode="none"
    )


def _kind(kinds: dict[str, int]) -> Column:
    (first, kind), *others = kinds.items()
    chosen = sql.when(sql.col("topic") == first, kind)
    for topic, other in others:
        chosen = chosen.when(sql.col("topic") == topic, other)
    return chosen.cast("int")
