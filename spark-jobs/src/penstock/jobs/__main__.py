"""Composition root: settings → session → queries → exit code. `penstock-jobs --help` lists jobs and settings.

One process runs any set of jobs in one Spark application. A query that fails ends it with 1; SIGTERM and SIGINT with 0.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence

from penstock.document import InvalidDocumentError
from penstock.jobs import config as settings
from penstock.jobs.audit.command import audit
from penstock.jobs.config import Config
from penstock.jobs.java_clients import java_settings
from penstock.jobs.job import Context
from penstock.jobs.jobs import JOBS, Job
from penstock.jobs.listener import Listener
from penstock.jobs.metrics import Metrics
from penstock.jobs.session import session, spark_settings
from penstock.pipeline import Pipeline
from penstock.pipeline import load as load_pipeline
from penstock.serving.address import AddressInUse, reserve
from penstock.serving.errors import ConfigError
from penstock.serving.logs import configure
from penstock.serving.settings import describe
from penstock.serving.topics import topics_are_there
from penstock.topics import TopicMap
from penstock.topics import load as load_topics
from penstock.topics.errors import TopicsError
from prometheus_client import CollectorRegistry, start_http_server
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

logger = logging.getLogger("penstock.jobs")

LOOK_EVERY_S = 0.2


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["audit"]:
        configure()
        return audit(given[1:], os.environ)
    if given[:1] != ["run"] or len(given) < 2 or not set(given[1:]) <= JOBS.keys():
        return usage(given)
    configure()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        return run([JOBS[name] for name in dict.fromkeys(given[1:])], os.environ, stop)
    except (ConfigError, InvalidDocumentError, AddressInUse, TopicsError) as error:
        sys.stderr.write(f"penstock jobs cannot start:\n{error}\n")
        return 2


def usage(given: Sequence[str]) -> int:
    """The exit code."""
    lines = "\n".join(f"  {job.name}  {job.about}" for job in JOBS.values())
    commands = "Usage: penstock-jobs run JOB...\n       penstock-jobs audit --help"
    text = f"{commands}\n\nJobs:\n{lines}\n\n{describe(settings.SETTINGS)}\n"
    if given and given[0] in {"-h", "--help"}:
        sys.stdout.write(text)
        return 0
    unknown = [name for name in given[1:] if name not in JOBS]
    problem = f"unknown job {unknown[0]!r}" if given[:1] == ["run"] and unknown else "say which jobs to run"
    sys.stderr.write(f"{problem}\n\n{text}")
    return 2


def run(jobs: Sequence[Job], environment: Mapping[str, str], stop: threading.Event) -> int:
    config = settings.load(environment)
    if not config.checkpoints:
        raise ConfigError([f"{settings.PREFIX}CHECKPOINTS must name a folder or address for Spark's checkpoints"])
    pipeline = load_pipeline(config.pipeline)
    topics = load_topics(config.topic_map).for_tables(pipeline.tables).prefixed(config.topic_prefix)
    names = [name for job in jobs for name in job.topics(pipeline, topics)]
    java = java_settings(config.kafka)
    reserve(config.metrics_listen)[0].close()  # taken by somebody else: say so before anything is started
    if not asyncio.run(_until_there(config, topics, names, stop)):
        return 0
    registry = CollectorRegistry()
    host, _, port = config.metrics_listen.rpartition(":")
    http, _ = start_http_server(int(port), host.strip("[]"), registry)
    logger.info("metrics on http://%s:%d/metrics", host, http.server_port)
    spark = session(config, spark_settings(config))
    # Spark's launcher puts its own handler in the place of ours.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        return _serve(spark, jobs, config, pipeline, topics, java, Metrics(registry), stop)
    finally:
        http.shutdown()
        spark.stop()
        logger.info("stopped")


async def _until_there(config: Config, topics: TopicMap, names: Sequence[str], stop: threading.Event) -> bool:
    """Waits for Kafka and the topics; False if it is told to stop first."""
    waiting = asyncio.create_task(topics_are_there(config.kafka, topics, names, missing=config.topics))
    while not waiting.done() and not stop.is_set():
        await asyncio.wait([waiting], timeout=LOOK_EVERY_S)
    if not waiting.done():
        waiting.cancel()
        return False
    waiting.result()
    return True


def _serve(
    spark: SparkSession,
    jobs: Sequence[Job],
    config: Config,
    pipeline: Pipeline,
    topics: TopicMap,
    java: Mapping[str, str],
    metrics: Metrics,
    stop: threading.Event,
) -> int:
    """Until it is told to stop, or a query ends."""
    hooks = {job.name: job.on_progress(config, topics, metrics) for job in jobs}
    spark.streams.addListener(Listener(metrics, hooks))
    context = Context(spark, pipeline, topics, java, config.checkpoints, config.records_max)
    queries = [job.start(context) for job in jobs]
    logger.info("running: %s", ", ".join(job.name for job in jobs))
    while not stop.wait(LOOK_EVERY_S):
        for query in queries:
            if not query.isActive:
                failed = query.exception()
                logger.error("the query %s ended: %s", query.name, _text(failed))
                return 1
    for query in queries:
        query.stop()
    return 0


def _text(failed: StreamingQueryException | None) -> str:
    return "nobody told it to" if failed is None else str(failed)


if __name__ == "__main__":
    raise SystemExit(main())
