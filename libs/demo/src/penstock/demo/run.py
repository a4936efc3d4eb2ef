"""The course of a demo: devices and observer run, the view shows them, time ends, the rest is read, and it is over.

In:  a running stack, a supervisor that says when to end, a scene to fill, a view.
Out: the scene, complete: everything acknowledged has been looked for in the log.
"""

import asyncio
import time
from typing import Protocol

from penstock.demo.device import World
from penstock.demo.fleet import Fleet, RealTime
from penstock.demo.observer import LogReader, Observer
from penstock.demo.population import scenario
from penstock.demo.scene import Scene
from penstock.demo.service import Ingestion
from penstock.embedded.supervisor import Supervisor
from penstock.topics.errors import TopicsError

# How long the devices may take to hand in what they hold, and the observer to read it.
HAND_IN_S = 20.0
READ_S = 20.0
_TICK_S = 0.25


class View(Protocol):
    """Something that shows a scene, again and again."""

    every_s: float

    def show(self, scene: Scene) -> None: ...


async def run(scene: Scene, seed: int, supervisor: Supervisor, view: View) -> None:
    """Returns when a stop is requested or the duration is over; a child that dies raises."""
    real_time = RealTime()
    observer = Observer(
        scene.ledger,
        scene.accuracy,
        scene.sightings,
        is_ours=lambda device_id: device_id.startswith("device-"),
        now_us=real_time.now_us,
    )
    reader = LogReader(scene.stack.bootstrap, observer.take)
    async with Ingestion(scene.stack.server, scene.devices, scene.tally) as service:
        world = World(scenario(scene.devices), real_time, service, scene.ledger, scene.tally)
        fleet = asyncio.create_task(Fleet(scene.devices, seed, world).run())
        reading = asyncio.create_task(reader.run())
        showing = asyncio.create_task(_show(scene, view))
        tasks = {fleet, reading, showing}
        try:
            await until_the_end(supervisor, scene.duration_s, tasks)
            scene.is_ending = True
            real_time.end()
            await asyncio.wait({fleet}, timeout=HAND_IN_S)
            await reader.finish()
            await asyncio.wait({reading}, timeout=READ_S)
            scene.is_log_read = reading.done()
            _raise_failures(supervisor, tasks)
        except TopicsError:
            supervisor.check()  # a dead Kafka explains it better
            raise
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def until_the_end(supervisor: Supervisor, duration_s: float | None, tasks: set[asyncio.Task[None]]) -> None:
    """Returns when a stop is requested or time is up; raises when a child dies or one of the tasks fails."""
    waiting = asyncio.create_task(asyncio.to_thread(supervisor.wait, duration_s))
    try:
        await asyncio.wait({waiting, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not waiting.done():
            supervisor.request_stop()  # its thread would keep the process alive
    await waiting  # a child that died comes first, and an error that nobody takes would be printed at the end
    _raise_failures(supervisor, tasks)


def _raise_failures(supervisor: Supervisor, tasks: set[asyncio.Task[None]]) -> None:
    """A child that died comes first: it explains whatever else has failed."""
    supervisor.check()
    for task in tasks:
        if task.done():
            task.result()


async def _show(scene: Scene, view: View) -> None:
    began = sampled = shown = time.monotonic()
    while True:
        now = time.monotonic()
        if not scene.is_ending:
            scene.elapsed_s = now - began
        if now - sampled >= 1:
            sampled += 1
            scene.rate.sample(scene.ledger.acknowledged)
        if now - shown >= view.every_s:
            shown = now
            view.show(scene)
        await asyncio.sleep(_TICK_S)
