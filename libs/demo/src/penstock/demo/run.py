"""The course of a demo: devices, application and observers are at work, the view shows them, time ends, all is judged.

In:  a running stack, a supervisor that says when to end, a scene to fill, a view.
Out: the scene, complete: everything acknowledged has been looked for in both logs, every join has been judged, the
     table has been compared with the database, and every timeline with what it should be.
"""

import asyncio
import time
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from penstock.client import PenstockError, Plaintext, Timelines
from penstock.demo.application import Application
from penstock.demo.catching_up import PROGRESS, Reached, behind, ends
from penstock.demo.database import Database
from penstock.demo.device import World
from penstock.demo.ending import Ending, Reading, Tasks
from penstock.demo.enriched import ENRICHED, EnrichedObserver
from penstock.demo.fleet import Fleet, RealTime
from penstock.demo.gauges import follow
from penstock.demo.live_timeline import watch
from penstock.demo.log_reader import LogReader
from penstock.demo.observer import RAW, Observer
from penstock.demo.onlooker import look_around
from penstock.demo.population import scenario
from penstock.demo.profiles import Profiles
from penstock.demo.scene import Scene
from penstock.demo.service import Ingestion, own_publisher
from penstock.demo.society import ONLOOKER, PROBE_READER
from penstock.demo.stop import Stop, unless
from penstock.embedded.supervisor import Supervisor
from penstock.topics.errors import TopicsError

# Two subscriptions and three logs are waited for at any time; the rest is short.
_THREADS = 16
_TICK_S = 0.25
_MEASURE_EVERY_S = 2.0


@dataclass(frozen=True)
class Cast:
    """Who takes part: `follows` is whom each of the first users follows at the beginning."""

    seed: int
    profiles: Profiles
    follows: Mapping[str, Sequence[str]]


class View(Protocol):
    """Something that shows a scene, again and again."""

    every_s: float

    def show(self, scene: Scene) -> None: ...


async def run(scene: Scene, cast: Cast, stop: Stop, view: View) -> None:
    """Returns when a stop is requested or the duration is over, and all is judged; a child that dies raises.

    StopRequestedError: a stop was requested while the judging was under way.
    """
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="demo"))
    stack, supervisor, tasks = scene.stack, stop.supervisor, Tasks()

    def begin(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        tasks.add(task)
        return task

    async with (
        Ingestion(stack.ingestion.address, scene.devices, scene.tally) as service,
        Database(stack.postgres) as database,
    ):
        real_time = RealTime()
        world = World(scenario(scene.devices), real_time, service, scene.ledger, scene.tally)
        fleet = Fleet(scene.devices, cast.seed, world, cast.follows)
        application = Application(cast.profiles, database, scene.truth, fleet.users, real_time)
        timelines = Timelines(stack.timeline.address, security=Plaintext())
        try:
            raw, enriched = (Reading(reader, begin(reader.run())) for reader in _readers(scene, real_time))
            reached = Reached()
            begin(LogReader(stack.bootstrap, PROGRESS, reached.take).run())
            makers = {
                begin(fleet.run()),
                begin(application.run(Random(f"{cast.seed}/pauses"), scene.devices)),
                begin(_probe(scene, real_time)),
                begin(_look_around(scene, real_time, fleet)),
            }
            begin(watch(timelines, PROBE_READER, scene.probe.take))
            begin(watch(timelines, ONLOOKER, lambda change: scene.onlooker.take(change, real_time.now_us())))
            begin(follow(stack.enrichment.metrics, scene.enrichment.read))
            begin(follow(stack.jobs.metrics, scene.join.read))
            begin(follow(stack.timeline.metrics, scene.timeline.read))
            begin(_measure_the_join(scene, reached))
            begin(_show(scene, view, real_time))
            await until_the_end(supervisor, scene.duration_s, tasks)
            real_time.end()
            with stop.ending() as again:
                ending = Ending(scene, raw, enriched, reached, timelines, database, supervisor)
                await unless(again, asyncio.create_task(ending.run(makers)))
            _raise_failures(supervisor, tasks)
        except (TopicsError, PenstockError):
            supervisor.check()  # a dead Kafka, or a dead service, explains it better
            raise
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            timelines.close()


def _readers(scene: Scene, real_time: RealTime) -> tuple[LogReader, LogReader]:
    """Of the raw log and the enriched one."""
    raw = Observer(scene.ledger, scene.accuracy)
    enriched = EnrichedObserver(scene.ledger, scene.joins, scene.sightings, scene.fresh_us, real_time.now_us)
    bootstrap = scene.stack.bootstrap
    return LogReader(bootstrap, RAW, raw.take), LogReader(bootstrap, ENRICHED, enriched.take)


async def _probe(scene: Scene, real_time: RealTime) -> None:
    async with own_publisher(scene.stack.ingestion.address, "probe") as publisher:
        await scene.probe.publish(publisher, real_time, Random())


async def _look_around(scene: Scene, real_time: RealTime, fleet: Fleet) -> None:
    async with own_publisher(scene.stack.ingestion.address, "onlooker") as publisher:
        await look_around(publisher, real_time, Random(), lambda: list(fleet.users))


async def _measure_the_join(scene: Scene, reached: Reached) -> None:
    while True:
        last = await asyncio.to_thread(ends, scene.stack.bootstrap, scene.pipeline)
        scene.join.behind = behind(last, reached)
        await asyncio.sleep(_MEASURE_EVERY_S)


async def until_the_end(supervisor: Supervisor, duration_s: float | None, tasks: Tasks) -> None:
    """Returns when a stop is requested or time is up; raises when a child dies or one of the tasks fails."""
    waiting = asyncio.create_task(asyncio.to_thread(supervisor.wait, duration_s))
    try:
        await asyncio.wait({waiting, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not waiting.done():
            supervisor.request_stop()  # its thread would keep the process alive
    await waiting  # a child that died comes first, and an error that nobody takes would be printed at the end
    _raise_failures(supervisor, tasks)


def _raise_failures(supervisor: Supervisor, tasks: Tasks) -> None:
    """A child that died comes first: it explains whatever else has failed."""
    supervisor.check()
    for task in tasks:
        if task.done() and not task.cancelled():
            task.result()


async def _show(scene: Scene, view: View, real_time: RealTime) -> None:
    began = sampled = shown = time.monotonic()
    ending = scene.ending
    while True:
        now = time.monotonic()
        if scene.ending is None:
            scene.elapsed_s = now - began
        if now - sampled >= 1:
            sampled += 1
            scene.rate.sample(scene.ledger.acknowledged)
            scene.enriched_rate.sample(scene.ledger.enriched)
        scene.joins.judge(real_time.now_us())
        if now - shown >= view.every_s or ending != scene.ending:
            shown, ending = now, scene.ending
            view.show(scene)
        await asyncio.sleep(_TICK_S)
