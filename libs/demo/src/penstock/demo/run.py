"""The course of a demo: devices, application and observers are at work, the view shows them, time ends, all is judged.

In:  a running stack, a supervisor that says when to end, a scene to fill, a view.
Out: the scene, complete: everything acknowledged has been looked for in both logs, every join has been judged, and the
     table has been compared with the database.
"""

import asyncio
import time
from collections.abc import Coroutine
from random import Random
from typing import Any, Protocol

from penstock.demo.application import Application
from penstock.demo.database import Database
from penstock.demo.device import World
from penstock.demo.ending import Ending, Reading, Tasks
from penstock.demo.enriched import ENRICHED, EnrichedObserver
from penstock.demo.fleet import Fleet, RealTime
from penstock.demo.joins import TABLE
from penstock.demo.log_reader import LogReader
from penstock.demo.observer import RAW, Observer
from penstock.demo.population import scenario
from penstock.demo.profiles import Profiles
from penstock.demo.scene import Scene
from penstock.demo.service import Ingestion
from penstock.embedded.supervisor import Supervisor
from penstock.topics.errors import TopicsError

_TICK_S = 0.25


class View(Protocol):
    """Something that shows a scene, again and again."""

    every_s: float

    def show(self, scene: Scene) -> None: ...


async def run(scene: Scene, profiles: Profiles, seed: int, supervisor: Supervisor, view: View) -> None:
    """Returns when a stop is requested or the duration is over; a child that dies raises."""
    stack, tasks = scene.stack, Tasks()

    def begin(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        tasks.add(task)
        return task

    async with (
        Ingestion(stack.ingestion.address, scene.devices, scene.tally) as service,
        Database(stack.postgres) as database,
    ):
        real_time = RealTime()
        fleet = Fleet(
            scene.devices, seed, World(scenario(scene.devices), real_time, service, scene.ledger, scene.tally)
        )
        application = Application(profiles, database, scene.truth, fleet.users, real_time)
        try:
            raw, enriched = (Reading(reader, begin(reader.run())) for reader in _readers(scene, real_time))
            makers = {begin(fleet.run()), begin(application.run(Random(f"{seed}/pauses"), scene.devices))}
            begin(scene.gauges.follow(stack.enrichment.metrics, TABLE))
            begin(_show(scene, view, real_time))
            await until_the_end(supervisor, scene.duration_s, tasks)
            real_time.end()
            await Ending(scene, raw, enriched, database, supervisor.check).run(makers)
            _raise_failures(supervisor, tasks)
        except TopicsError:
            supervisor.check()  # a dead Kafka explains it better
            raise
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _readers(scene: Scene, real_time: RealTime) -> tuple[LogReader, LogReader]:
    """Of the raw log and the enriched one."""
    raw = Observer(scene.ledger, scene.accuracy)
    enriched = EnrichedObserver(scene.ledger, scene.joins, scene.sightings, scene.fresh_us, real_time.now_us)
    bootstrap = scene.stack.bootstrap
    return LogReader(bootstrap, RAW, raw.take), LogReader(bootstrap, ENRICHED, enriched.take)


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
    while True:
        now = time.monotonic()
        if scene.ending is None:
            scene.elapsed_s = now - began
        if now - sampled >= 1:
            sampled += 1
            scene.rate.sample(scene.ledger.acknowledged)
        scene.joins.judge(real_time.now_us())
        if now - shown >= view.every_s:
            shown = now
            view.show(scene)
        await asyncio.sleep(_TICK_S)
