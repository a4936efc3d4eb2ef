"""One worker process: serves until told to stop, then drains.

Order of a start: listen (health says NOT_SERVING), verify the topics, SERVING.
Order of a stop: NOT_SERVING, wait for balancers, end streams, finish what is under way, flush, exit.
"""

from __future__ import annotations

import asyncio
import logging
import time

from penstock.clock import Settings
from penstock.ingestion.clocks import ClockDesk
from penstock.ingestion.config import Config
from penstock.ingestion.gate import Gate
from penstock.ingestion.intake import RAW, REJECTED, Intake, Topics
from penstock.ingestion.journal import Journal, producer_config
from penstock.ingestion.ledger import Ledger
from penstock.ingestion.metrics import Metrics
from penstock.ingestion.recent import Recent
from penstock.ingestion.servicer import SERVICE, IngestServicer
from penstock.ingestion.stream import Window
from penstock.ingestion.tokens import TokenSealer
from penstock.serving.server import Server, flush_for_ever
from penstock.serving.topics import topics_are_there
from penstock.topics import TopicMap
from penstock.topics.errors import TopicsError

logger = logging.getLogger(__name__)

# gRPC refuses larger messages itself, in its own words; up to here we do, and say what the limit is.
OVERSIZE_BYTES = 1 << 20


def now_us() -> int:
    return time.time_ns() // 1000


def build_intake(config: Config, gate: Gate, topics: TopicMap, journal: Journal, metrics: Metrics) -> Intake:
    sealer = TokenSealer(config.clock_keys, expiry_us=config.token_age_max_s * 1_000_000)
    settings = Settings(drift_ppm_max=config.drift_ppm_max, server_skew_us=config.server_skew_us)
    return Intake(
        gate=gate,
        clocks=ClockDesk(sealer, settings, config.recent_devices_max, metrics),
        ledger=Ledger(gate, Recent(config.recent_devices_max)),
        journal=journal,
        topics=Topics(raw=topics.kafka_name(RAW), rejected=topics.kafka_name(REJECTED)),
        metrics=metrics,
        timeout_s=config.produce_timeout_s,
        now_us=now_us,
    )


async def serve(
    config: Config, gate: Gate, topics: TopicMap, metrics: Metrics, address: str, stop: asyncio.Event
) -> int:
    """Serves on `address` until `stop`; returns the exit code."""
    journal = Journal(
        producer_config(
            config.kafka,
            record_bytes_max=topics[REJECTED].max_message_bytes,
            inflight_bytes_max=config.inflight_bytes_max,
            timeout_s=config.produce_timeout_s,
        ),
        inflight_bytes_max=config.inflight_bytes_max,
        metrics=metrics,
        loop=asyncio.get_running_loop(),
    )
    window = Window(config.stream_window_batches, config.stream_window_bytes)
    intake = build_intake(config, gate, topics, journal, metrics)
    servicer = IngestServicer(intake, metrics, window, config.connection_age_max_s)
    message_bytes_max = config.limits.request_bytes_max + OVERSIZE_BYTES
    server = Server(config, (SERVICE,), (servicer.handler(),), message_bytes_max=message_bytes_max)
    await server.start(address)
    flushing = asyncio.create_task(flush_for_ever(metrics))
    failed = await until_stopped(config, topics, journal, server, stop)
    logger.info("draining")
    if failed:
        await server.set_serving(False)
    else:
        await server.announce_end()
    servicer.drain()
    await server.stop()
    left = await journal.close(config.drain_grace_s)
    flushing.cancel()
    metrics.flush()
    if left:
        logger.error("%d records were not confirmed by Kafka; their clients were not told that they are", left)
    logger.info("stopped")
    return 1 if failed or left else 0


async def until_stopped(
    config: Config, topics: TopicMap, journal: Journal, server: Server, stop: asyncio.Event
) -> bool:
    """Returns True if something other than `stop` ended it."""
    stopped: asyncio.Future[object] = asyncio.ensure_future(stop.wait())
    ready: asyncio.Future[object] = asyncio.ensure_future(
        topics_are_there(config.kafka, topics, (RAW, REJECTED), missing=config.topics)
    )
    broken: asyncio.Future[object] = asyncio.ensure_future(journal.broken_by())
    try:
        await asyncio.wait({stopped, ready}, return_when=asyncio.FIRST_COMPLETED)
        if stopped.done():
            return False
        try:
            ready.result()
        except TopicsError as error:
            logger.error("cannot serve: %s", error)  # noqa: TRY400 -- its text says all; a traceback would hide it
            return True
        await server.set_serving(True)
        logger.info("serving")
        await asyncio.wait({stopped, broken}, return_when=asyncio.FIRST_COMPLETED)
        if broken.done():
            logger.error("the Kafka producer is broken and must be replaced: %s", broken.result())
        return broken.done()
    finally:
        for future in (stopped, ready, broken):
            future.cancel()
