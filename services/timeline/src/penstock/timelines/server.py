"""The life of one replica: answers while the applier's thread works, stops in order.

Order of a start: topics, snapshots, listen (NOT_SERVING), all deliveries applied, SERVING. A stop: NOT_SERVING, wait
for balancers, end subscriptions, finish calls, save, exit.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
from collections.abc import Coroutine
from typing import Any

from confluent_kafka import KafkaException
from penstock.pipeline import Pipeline, Timeline
from penstock.serving.server import Server, flush_for_ever
from penstock.timelines.applier_thread import ApplierThread
from penstock.timelines.bell import Bell
from penstock.timelines.config import Config
from penstock.timelines.errors import RefusedStartError
from penstock.timelines.metrics import Metrics
from penstock.timelines.replica import Replica
from penstock.timelines.servicer import SERVICE
from penstock.timelines.warmup import warm_up
from penstock.topics import TopicMap
from penstock.topics.errors import TopicsError

logger = logging.getLogger(__name__)

MESSAGE_BYTES_MAX = 4 << 20


async def serve(
    config: Config,
    pipeline: Pipeline,
    timeline: Timeline,
    topics: TopicMap,
    metrics: Metrics,
    address: str,
    stop: asyncio.Event,
) -> int:
    """Serves on `address` until `stop`; returns the exit code."""
    try:
        replica = Replica(config, pipeline, timeline, topics, metrics)
        if not await _either(stop.wait(), replica.topics_are_there()):
            return 0
        await asyncio.to_thread(warm_up)
        holdings, ends = await asyncio.to_thread(replica.recovered)
        consistency, subscriptions, forwarding = (
            replica.consistency(holdings),
            replica.subscriptions(),
            replica.forwarding(),
        )

        def listen(changed: set[int]) -> None:
            subscriptions.wake(changed)
            consistency.progressed()

        loop = asyncio.get_running_loop()
        applier = replica.applier(holdings, Bell(loop, listen))
    except (TopicsError, RefusedStartError, KafkaException) as error:  # KafkaException: a setting that is no good
        logger.error("cannot serve: %s", error)  # noqa: TRY400 -- its text says all; a traceback would hide it
        return 1
    servicer = replica.servicer(holdings, applier, consistency, subscriptions, forwarding)
    server = Server(config, (SERVICE,), (servicer.handler(),), message_bytes_max=MESSAGE_BYTES_MAX)
    await server.start(address)
    flushing = asyncio.create_task(flush_for_ever(metrics))
    thread = ApplierThread(applier, ends, loop)
    thread.start()
    failed = await thread.until_loaded_then(stop, server)
    logger.info("draining")
    # If something hangs where no timeout of ours reaches: say where, and end. That is safe, as kill -9 would be: what
    # is not saved is replayed.
    faulthandler.dump_traceback_later(config.drain_wait_s + 2 * config.drain_grace_s + 5, exit=True)
    await server.announce_end() if not failed else await server.set_serving(False)
    subscriptions.drain()
    await server.stop()
    applier.stopping.set()
    failed = await thread.ended_within(config.drain_grace_s) or failed
    await forwarding.close()
    flushing.cancel()
    metrics.flush()
    return 1 if failed else 0


async def _either(one: Coroutine[Any, Any, Any], other: Coroutine[Any, Any, Any]) -> bool:
    """Waits for the first of two; True if `other` has ended (raising what it raised), and the rest is cancelled."""
    first, second = asyncio.create_task(one), asyncio.create_task(other)
    try:
        await asyncio.wait({first, second}, return_when=asyncio.FIRST_COMPLETED)
        if second.done():
            second.result()
        return second.done()
    finally:
        first.cancel()
        second.cancel()
