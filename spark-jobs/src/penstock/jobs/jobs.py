"""The jobs that there are."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from penstock.jobs.config import Config
from penstock.jobs.job import Context
from penstock.jobs.listener import OnProgress
from penstock.jobs.metrics import Metrics
from penstock.jobs.timelines import query as timelines
from penstock.jobs.timelines.progress import TOPIC as PROGRESS
from penstock.jobs.timelines.progress import ProgressTeller
from penstock.pipeline import Pipeline
from penstock.serving.errors import ConfigError
from penstock.topics import TopicMap
from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True)
class Job:
    """`topics` names what it reads and writes; `on_progress` makes what is called after each batch."""

    name: str
    about: str
    topics: Callable[[Pipeline, TopicMap], list[str]]
    start: Callable[[Context], StreamingQuery]
    on_progress: Callable[[Config, TopicMap, Metrics], OnProgress]


def _timeline_topics(pipeline: Pipeline, topics: TopicMap) -> list[str]:
    timeline = pipeline.timeline
    if timeline is None:
        raise ConfigError(["the job timelines needs the section `timeline:` in pipeline.yaml"])
    sharded = [topics.tables[timeline.posts.table], topics.tables[timeline.follows.table], timelines.REFILLS_TOPIC]
    if len({topics[name].partitions for name in sharded}) > 1:
        counts = ", ".join(f"{name} has {topics[name].partitions}" for name in sharded)
        raise ConfigError([f"posts, follows and refills must have equally many partitions to be joined: {counts}"])
    return [*sharded, timelines.DELIVERIES, PROGRESS]


def _tell_timelines(config: Config, topics: TopicMap, metrics: Metrics) -> OnProgress:
    failed = metrics.progress_failures.labels(timelines.NAME).inc
    return ProgressTeller(config.kafka, topics, time.time_ns() // 1000, failed).tell


JOBS = {
    job.name: job
    for job in (
        Job(
            timelines.NAME,
            "joins posts with follows: who gets which post, kept up to date as either changes",
            _timeline_topics,
            timelines.start,
            _tell_timelines,
        ),
    )
}
