"""One worker process: builds the gRPC server, serves until told to stop, then drains.

Order of a start: listen (health says NOT_SERVING), verify the topics, SERVING.
Order of a stop: NOT_SERVING, wait for balancers, end streams, finish what is under way, flush, exit.
"""

from __future__ import annotations

import asyncio
import logging
import time

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from penstock.clock import Settings
from penstock.ingest.v1 import ingest_pb2
from penstock.ingestion.clocks import ClockDesk
from penstock.ingestion.config import Config
from penstock.ingestion.gate import Gate
from penstock.ingestion.intake import RAW, REJECTED, Intake, Topics
from penstock.ingestion.journal import Journal, producer_config
from penstock.ingestion.ledger import Ledger
from penstock.ingestion.metrics import Metrics
from penstock.ingestion.pool import FLUSH_S
from penstock.ingestion.recent import Recent
from penstock.ingestion.servicer import SERVICE, IngestServicer
from penstock.ingestion.stream import Window
from penstock.ingestion.tokens import TokenSealer
from penstock.topics import TopicMap
from penstock.topics.errors import KafkaUnreachableError, TopicsError, TopicsMissingError
from penstock.topics.kafka import ensure, verify

logger = logging.getLogger(__name__)

STAMP_BYTES_MAX = 64 << 10
RETRY_S = 2.0


def now_us() -> int:
    return time.time_ns() // 1000


def server_options(config: Config) -> list[tuple[str, int]]:
    age_ms = config.connection_age_max_s * 1000
    return [
        # grpcio refuses larger messages itself, before we see them, with RESOURCE_EXHAUSTED and the sizes.
        ("grpc.max_receive_message_length", config.limits.request_bytes_max + (64 << 10)),
        ("grpc.so_reuseport", 1),
        ("grpc.max_connection_age_ms", age_ms),
        ("grpc.max_connection_age_grace_ms", (config.drain_grace_s + 10) * 1000),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.keepalive_permit_without_calls", 1),
    ]


def credentials(config: Config) -> grpc.ServerCredentials | None:
    if config.tls_certificate is None or config.tls_key is None:
        return None
    pair = (config.tls_key.read_bytes(), config.tls_certificate.read_bytes())
    roots = config.tls_client_ca.read_bytes() if config.tls_client_ca else None
    return grpc.ssl_server_credentials([pair], roots, require_client_auth=roots is not None)


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


async def topics_are_there(config: Config, topics: TopicMap) -> None:
    """Waits for Kafka and for the topics as long as it takes; raises if one is not as proto/topics.yaml says."""
    settle = ensure if config.topics == "create" else verify
    while True:
        try:
            await asyncio.to_thread(settle, dict(config.kafka), topics, names=(RAW, REJECTED))
        except (KafkaUnreachableError, TopicsMissingError) as error:
            logger.warning("not serving yet: %s; trying again", error)
            await asyncio.sleep(RETRY_S)
        else:
            return


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
    server = grpc.aio.server(options=server_options(config), maximum_concurrent_rpcs=config.concurrent_rpcs_max)
    server.add_generic_rpc_handlers((servicer.handler(),))
    state = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(state, server)
    names = (ingest_pb2.DESCRIPTOR.services_by_name["IngestService"].full_name, health.SERVICE_NAME)
    reflection.enable_server_reflection((*names, reflection.SERVICE_NAME), server)
    tls = credentials(config)
    if tls is not None:
        server.add_secure_port(address, tls)
    else:
        server.add_insecure_port(address)
    await set_health(state, health_pb2.HealthCheckResponse.NOT_SERVING)
    await server.start()
    flushing = asyncio.create_task(flush_for_ever(metrics))
    failed = await until_stopped(config, topics, journal, state, stop)
    await set_health(state, health_pb2.HealthCheckResponse.NOT_SERVING)
    if not failed:
        await asyncio.sleep(config.drain_wait_s)  # balancers learn of NOT_SERVING by asking, at their own pace
    servicer.drain()
    await server.stop(config.drain_grace_s)
    left = await journal.close(config.drain_grace_s)
    flushing.cancel()
    metrics.flush()
    if left:
        logger.error("%d records were not confirmed by Kafka; their clients were not told that they are", left)
    return 1 if failed or left else 0


async def flush_for_ever(metrics: Metrics) -> None:
    while True:
        await asyncio.sleep(FLUSH_S)
        metrics.flush()


async def set_health(state: health.aio.HealthServicer, status: health_pb2.HealthCheckResponse.ServingStatus) -> None:
    for name in ("", SERVICE):
        await state.set(name, status)


async def until_stopped(
    config: Config, topics: TopicMap, journal: Journal, state: health.aio.HealthServicer, stop: asyncio.Event
) -> bool:
    """Returns True if something other than `stop` ended it."""
    stopped: asyncio.Future[object] = asyncio.ensure_future(stop.wait())
    ready: asyncio.Future[object] = asyncio.ensure_future(topics_are_there(config, topics))
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
        await set_health(state, health_pb2.HealthCheckResponse.SERVING)
        logger.info("serving")
        await asyncio.wait({stopped, broken}, return_when=asyncio.FIRST_COMPLETED)
        if broken.done():
            logger.error("the Kafka producer is broken and must be replaced: %s", broken.result())
        return broken.done()
    finally:
        for future in (stopped, ready, broken):
            future.cancel()
