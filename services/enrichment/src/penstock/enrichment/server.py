"""One instance: builds the parts, serves look-ups while the engine's thread works, stops in order.

Order of a start: listen (NOT_SERVING), topics, tables complete, SERVING, join. A stop: NOT_SERVING, wait for balancers,
finish the transaction under way, save snapshots, exit without closing Kafka clients (see the transactor).
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import threading
import time
from collections.abc import Collection, Coroutine, Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from penstock.enrichment.config import Config
from penstock.enrichment.consistency import Consistency
from penstock.enrichment.engine import Engine, Parts
from penstock.enrichment.failpoints import failpoint
from penstock.enrichment.follower import Followed, Follower
from penstock.enrichment.intake import UnusableTableError, check_sources
from penstock.enrichment.intake.step import REJECTED as REJECTED_CHANGES
from penstock.enrichment.intake.step import IntakeStep
from penstock.enrichment.join.emission import RAW
from penstock.enrichment.join.horizon import Horizon
from penstock.enrichment.join.joiner import Joiner, plans_of
from penstock.enrichment.join.step import TOPICS as JOIN_TOPICS
from penstock.enrichment.join.step import JoinStep
from penstock.enrichment.metrics import Metrics
from penstock.enrichment.servicer import SERVICE, EnrichmentServicer
from penstock.enrichment.steps import Record
from penstock.enrichment.tables import History
from penstock.enrichment.transactor import Transactor
from penstock.pipeline import Pipeline, fingerprint
from penstock.serving.server import Server, flush_for_ever
from penstock.serving.topics import topics_are_there
from penstock.topics import TopicMap
from penstock.topics.content import content
from penstock.topics.errors import TopicsError

logger = logging.getLogger(__name__)

ASK_TIMEOUT_S = 10.0
RESTORE_TIMEOUT_S = 90.0  # a transaction of somebody who died in it stays open for its timeout, and a bit
MESSAGE_BYTES_MAX = 4 << 20


def now_us() -> int:
    return time.time_ns() // 1000


def followed_tables(pipeline: Pipeline, topics: TopicMap) -> list[Followed]:
    return [
        Followed(
            name,
            topics.kafka_name(topics.tables[name]),
            topics.tables[name],
            History(table.history.versions, table.history.age_ms * 1000),
            fingerprint(name, table),
        )
        for name, table in pipeline.tables.items()
    ]


class Instance:
    """Everything that one process of enrichment is made of."""

    def __init__(self, config: Config, pipeline: Pipeline, topics: TopicMap, metrics: Metrics) -> None:
        self._config = config
        self._pipeline = pipeline
        self._topics = topics
        self._metrics = metrics
        self._kafka = dict(config.kafka)
        self._group = config.topic_prefix + config.group
        self._plans = plans_of(pipeline, topics.tables)

    async def topics_are_there(self) -> None:
        names = [*JOIN_TOPICS, REJECTED_CHANGES, *self._topics.tables.values()]
        await topics_are_there(self._kafka, self._topics, names, missing=self._config.topics)

    def follower(self) -> Follower:
        followed = followed_tables(self._pipeline, self._topics)
        return Follower(followed, kafka=self._kafka, folder=self._config.state_folder)

    def parts(self, follower: Follower) -> Parts:
        """In the engine's thread, when the tables are complete."""
        config = self._config
        joiner = Joiner(self._plans, follower.tables)
        horizon = Horizon(config.horizon_events_max, config.horizon_age_s * 1_000_000)
        step = JoinStep(
            pipeline=self._pipeline,
            topics=self._topics,
            joiner=joiner,
            horizon=horizon,
            boots_max=config.boots_max,
            read=self._read,
            now_us=now_us,
        )
        join = Transactor(
            step,
            kafka=self._kafka,
            group=self._group,
            transactional_id=f"{self._group}-join-{config.instance}",
            topics=[self._topics.kafka_name(RAW)],
            records_max=config.records_max,
            failpoint=failpoint(config.failpoints),
        )
        intake_step = IntakeStep(pipeline=self._pipeline, topics=self._topics, followed=follower, now_us=now_us)
        return Parts(follower, joiner, horizon, step, join, self._intake(intake_step), intake_step)

    def _intake(self, step: IntakeStep) -> Transactor | None:
        """Only where a table comes from change data capture."""
        if not step.source_topics:
            return None
        group = f"{self._group}-intake"
        return Transactor(
            step,
            kafka=self._kafka,
            group=group,
            transactional_id=f"{group}-{self._config.instance}",
            topics=step.source_topics,
            records_max=self._config.records_max,
            failpoint=failpoint(self._config.failpoints),
        )

    def _read(
        self, topic: str, partitions: Collection[int] | None, since_ms: int | None, newest_max: int | None
    ) -> Iterable[Record]:
        return content(
            self._kafka,
            topic,
            partitions=partitions,
            since_ms=since_ms,
            newest_max=newest_max,
            wait_for_open=True,
            timeout_s=RESTORE_TIMEOUT_S,
        )

    def held(self, topic: str) -> Iterable[Record]:
        """What a topic that is not ours holds now; nothing, if it is not there yet."""
        return content(self._kafka, topic)

    def servicer(self, follower: Follower, consistency: Consistency) -> EnrichmentServicer:
        return EnrichmentServicer(
            pipeline=self._pipeline,
            follower=follower,
            topics=self._topics.tables,
            consistency=consistency,
            plans=self._plans,
            metrics=self._metrics,
            batch_lookups_max=self._config.batch_lookups_max,
            now_us=now_us,
        )

    def committed(self) -> Committed:
        return Committed(self._kafka, self._group, self._topics.kafka_name(RAW))


class Committed:
    """How far the group has come in the raw topic, whichever instance did it."""

    def __init__(self, kafka: dict[str, str], group: str, topic: str) -> None:
        self._topic = topic
        self._consumer = Consumer({**kafka, "group.id": group, "isolation.level": "read_committed"}, logger=logger)

    def __call__(self, partition: int) -> int:
        (place,) = self._consumer.committed([TopicPartition(self._topic, partition)], ASK_TIMEOUT_S)
        return max(place.offset, 0)


async def serve(
    config: Config, pipeline: Pipeline, topics: TopicMap, metrics: Metrics, address: str, stop: asyncio.Event
) -> int:
    """Serves on `address` until `stop`; returns the exit code."""
    instance = Instance(config, pipeline, topics, metrics)
    try:
        if not await _either(stop.wait(), instance.topics_are_there()):
            return 0
        await asyncio.to_thread(check_sources, pipeline, instance.held)
        follower = await asyncio.to_thread(instance.follower)
        committed = instance.committed()
    except (TopicsError, UnusableTableError, KafkaException) as error:  # KafkaException: a setting that is no good
        logger.error("cannot serve: %s", error)  # noqa: TRY400 -- its text says all; a traceback would hide it
        return 1
    loop = asyncio.get_running_loop()
    consistency = Consistency(follower, committed)
    server = Server(
        config, (SERVICE,), (instance.servicer(follower, consistency).handler(),), message_bytes_max=MESSAGE_BYTES_MAX
    )
    await server.start(address)
    flushing = asyncio.create_task(flush_for_ever(metrics))

    def progressed() -> None:
        loop.call_soon_threadsafe(consistency.progressed)

    engine = Engine(
        lambda: instance.parts(follower),
        follower,
        metrics,
        snapshot_changes=config.snapshot_changes,
        on_progress=progressed,
    )
    thread = EngineThread(engine, loop)
    thread.start()
    failed = await thread.until_loaded_then(stop, server)
    logger.info("draining")
    # If something hangs where no timeout of ours reaches: say where, and end. That is safe, as kill -9 would be: what
    # is not committed is done again.
    faulthandler.dump_traceback_later(config.drain_wait_s + 2 * config.drain_grace_s + 5, exit=True)
    await server.announce_end() if not failed else await server.set_serving(False)
    await server.stop()
    engine.stopping.set()
    failed = await thread.ended_within(config.drain_grace_s) or failed
    flushing.cancel()
    metrics.flush()
    return 1 if failed else 0


class EngineThread:
    """The engine beside the event loop: a bug in it ends the process."""

    def __init__(self, engine: Engine, loop: asyncio.AbstractEventLoop) -> None:
        self._engine = engine
        self._loop = loop
        self._ended: asyncio.Future[bool] = loop.create_future()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        failed = True
        try:
            self._engine.run()
            failed = False
        except Exception:
            logger.exception("the engine failed; this process ends, and the next one goes on from the log")
        finally:
            self._engine.loaded.set()
            self._loop.call_soon_threadsafe(self._ended.set_result, failed)

    async def until_loaded_then(self, stop: asyncio.Event, server: Server) -> bool:
        """SERVING once the tables are complete; returns at `stop`, or True when the engine failed."""
        await asyncio.to_thread(self._engine.loaded.wait)
        if not self._ended.done():
            await server.set_serving(True)
            logger.info("serving")
        await _either(stop.wait(), self.ended())
        return self._ended.done() and self._ended.result()

    async def ended(self) -> bool:
        """Waits for its end; True if it failed."""
        return await asyncio.shield(self._ended)

    async def ended_within(self, grace_s: float) -> bool:
        """The same, but not for ever: without Kafka a transaction may hang. Leaving it is safe, as kill -9 would be."""
        try:
            async with asyncio.timeout(grace_s):
                return await self.ended()
        except TimeoutError:
            logger.error("the transaction under way did not end within %d s and is left to Kafka", grace_s)  # noqa: TRY400
            return True


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
