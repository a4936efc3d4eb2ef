"""What timelines are, in Spark SQL, over all of the tables' logs.

In:  the logs of posts and follows, up to known offsets, as rows.
Out: for every user who ever followed somebody, the newest posts that live of the authors followed, newest first.
This is the definition, not the join that the pipeline runs: it shares with it only how a row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pandas as pd
from penstock.delivery.rows import Rows
from penstock.pipeline import Pipeline
from penstock.tables.v1.row_change_pb2 import Op, RowChange
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sql

ROW = (
    "kind string, author string, id string, follower string, time_us bigint, position binary, alive boolean,"
    " payload binary"
)
COLUMNS = [column.split()[0] for column in ROW.split(", ")]
POST, FOLLOW, POSTS_CUT, FOLLOWS_CUT = "post", "follow", "posts cut", "follows cut"


def timelines(rows: DataFrame, capacity: int) -> DataFrame:
    """(user, posts): posts are structs (rank, time_us, id, author, payload), newest first; none is an empty list."""
    posts = rows.where(sql.col("kind") == POST).transform(state, POSTS_CUT, rows, "author", "id")
    follows = rows.where(sql.col("kind") == FOLLOW).transform(state, FOLLOWS_CUT, rows, "follower", "author")
    newest = Window.partitionBy("user").orderBy(sql.desc("time_us"), sql.desc("id"), sql.desc("author"))
    shown = (
        follows.where("alive")
        .select(sql.col("follower").alias("user"), "author")
        .join(posts.where("alive").select("author", "id", "time_us", "payload"), "author")
        .withColumn("rank", sql.row_number().over(newest))
        .where(sql.col("rank") <= capacity)
        .groupBy("user")
        .agg(sql.array_sort(sql.collect_list(sql.struct("rank", "time_us", "id", "author", "payload"))).alias("posts"))
    )
    users = follows.select(sql.col("follower").alias("user")).distinct()
    return users.join(shown, "user", "left").select("user", sql.coalesce("posts", sql.array()).alias("posts"))


def state(changes: DataFrame, cut: str, rows: DataFrame, *key: str) -> DataFrame:
    """Of each row the greatest version, unless a truncate is greater: then it is gone."""
    cuts = rows.where(sql.col("kind") == cut).agg(sql.max(_version()).alias("cut"))
    latest = changes.groupBy(*key).agg(sql.max_by(sql.struct("*"), _version()).alias("row"))
    return (
        latest.select("row.*")
        .crossJoin(sql.broadcast(cuts))
        .withColumn("alive", sql.col("alive") & sql.coalesce(_version() >= sql.col("cut"), sql.lit(True)))
        .drop("cut")
    )


def reader(pipeline: Pipeline) -> Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """For mapInPandas: records (topic's table, value) to rows."""

    def read(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        rows = Rows(pipeline)
        for frame in frames:
            changes = map(RowChange.FromString, frame["value"])
            yield pd.DataFrame([_row(rows, one) for one in changes], columns=COLUMNS)

    return read


def _row(rows: Rows, change: RowChange) -> tuple[object, ...]:
    version, is_post = change.version, change.table == rows.posts_table
    if change.op == Op.OP_TRUNCATE:
        cut = POSTS_CUT if is_post else FOLLOWS_CUT
        return cut, None, None, None, version.valid_from_us, version.position, False, None
    if is_post:
        post = rows.post(change)
        return POST, post.author, post.id, None, post.time_us, post.position, post.alive, post.payload
    follow = rows.follow(change)
    return FOLLOW, follow.author, None, follow.follower, follow.time_us, follow.position, follow.alive, None


def _version() -> Column:
    return sql.struct("time_us", "position")
