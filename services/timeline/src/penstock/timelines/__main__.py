"""Composition root: settings → pipeline → replica → exit code. `--help` lists the settings."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys

import uvloop
from penstock.document import InvalidDocumentError
from penstock.pipeline import Pipeline, Timeline
from penstock.pipeline import load as load_pipeline
from penstock.serving.address import AddressInUse, reserve
from penstock.serving.errors import ConfigError
from penstock.serving.logs import configure
from penstock.serving.settings import usage
from penstock.timelines import config as settings
from penstock.timelines.config import Config
from penstock.timelines.metrics import Metrics
from penstock.timelines.server import serve
from penstock.topics import TopicMap
from penstock.topics import load as load_topics
from penstock.topics.errors import TopicMapError
from prometheus_client import CollectorRegistry, start_http_server

logger = logging.getLogger("penstock.timelines")

# The applier's thread never waits for long while it has work; reads should not wait for it longer than this.
SWITCH_INTERVAL_S = 0.0005
# Inboxes are arrays and make no garbage: look for it rarely.
GARBAGE_THRESHOLDS = (50_000, 20, 100)


def main(arguments: list[str], environment: dict[str, str]) -> int:
    if arguments:
        return usage("penstock.timelines", arguments, settings.SETTINGS)
    configure()
    try:
        config = settings.load(environment)
        pipeline = load_pipeline(config.pipeline)
        timeline = section(config, pipeline)
        topics = load_topics(config.topic_map).for_tables(pipeline.tables).prefixed(config.topic_prefix)
        held, address = reserve(config.listen)
        reserve(config.metrics_listen)[0].close()  # taken by somebody else: say so before anything is started
    except (ConfigError, InvalidDocumentError, TopicMapError, AddressInUse) as error:
        sys.stderr.write(f"penstock timeline cannot start:\n{error}\n")
        return 2
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    with held, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        code = runner.run(run(config, pipeline, timeline, topics, address))
    logger.info("stopped")
    logging.shutdown()
    # All is saved. What is left, librdkafka's destructors, may wait for a broker that does not answer.
    os._exit(code)


def section(config: Config, pipeline: Pipeline) -> Timeline:
    """What the pipeline says about timelines. ConfigError, if it says nothing, or what the settings do not allow."""
    timeline = pipeline.timeline
    if timeline is None:
        raise ConfigError(
            [f"{config.pipeline} has no section `timeline`: it says which tables are the posts and the follows"]
        )
    if config.limit_max < timeline.capacity:
        raise ConfigError(
            [
                f"{settings.PREFIX}LIMIT_MAX is {config.limit_max}, less than a timeline has"
                f" (timeline.capacity is {timeline.capacity}): it could not be read whole"
            ]
        )
    return timeline


async def run(config: Config, pipeline: Pipeline, timeline: Timeline, topics: TopicMap, address: str) -> int:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    registry = CollectorRegistry()
    host, _, port = config.metrics_listen.rpartition(":")
    http, _ = start_http_server(int(port), host.strip("[]"), registry)
    logger.info("gRPC on %s, metrics on http://%s:%d/metrics", address, host, http.server_port)
    try:
        return await serve(config, pipeline, timeline, topics, Metrics(registry), address, stop)
    finally:
        http.shutdown()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:], dict(os.environ)))
