"""The end of a demo: what is left is handed in, enrichment catches up, and everything is looked for.

In:  the tasks that are still at work. Out: the scene, complete.
Every step has a limit. What is not done by then is said, and is no reason to wait.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

import grpc
from penstock.demo.database import Database
from penstock.demo.joins import TABLE
from penstock.demo.log_reader import LogReader
from penstock.demo.lookups import Lookups, differing
from penstock.demo.scene import Scene

# How long the devices may take to hand in what they hold, a log to be read, and enrichment to catch up.
HAND_IN_S = 30.0
READ_S = 60.0
CATCH_UP_S = 90.0
_LOOK_EVERY_S = 0.2

Tasks = set[asyncio.Task[None]]


@dataclass(frozen=True)
class Reading:
    """A log, and the task that reads it."""

    reader: LogReader
    task: asyncio.Task[None]

    async def to_the_end(self) -> bool:
        """Whether it could be read to where it ends now."""
        await self.reader.finish()
        await asyncio.wait({self.task}, timeout=READ_S)
        return self.task.done()


@dataclass(frozen=True)
class Ending:
    """`check` raises if a child has died."""

    scene: Scene
    raw: Reading
    enriched: Reading
    database: Database
    check: Callable[[], None]

    async def run(self, makers: Tasks) -> None:
        """`makers`: who makes events and changes, and has been told that time is over."""
        scene = self.scene
        scene.ending = "handing in what is left …"
        await hand_in(makers)
        scene.is_log_read = await self.raw.to_the_end()
        scene.ending = "enrichment catches up …"
        await self._catch_up()
        scene.is_enriched_log_read = await self.enriched.to_the_end()
        scene.joins.judge(_now_us())

    async def _catch_up(self) -> None:
        scene, deadline = self.scene, time.monotonic() + CATCH_UP_S
        with Lookups(scene.stack.enrichment.address, TABLE) as lookups:
            while time.monotonic() < deadline:
                await asyncio.to_thread(self.check)
                if scene.rows_differing != 0:
                    await self._compare(lookups)
                scene.joins.judge(_now_us())
                if scene.rows_differing == 0 and is_complete(scene):
                    return
                await asyncio.sleep(_LOOK_EVERY_S)

    async def _compare(self, lookups: Lookups) -> None:
        truth, rows = self.scene.truth.now(), await self.database.rows()
        try:
            table = await asyncio.to_thread(lookups.newest, truth)
        except grpc.RpcError:
            return  # it is asked again; if enrichment has died, `check` says so
        self.scene.rows_compared, self.scene.rows_differing = len(truth), differing(rows, truth, table)


async def hand_in(makers: Tasks) -> None:
    """Whoever is not done in time has to stop: what would be acknowledged later, nobody would look for."""
    _, late = await asyncio.wait(makers, timeout=HAND_IN_S)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)


def is_complete(scene: Scene) -> bool:
    """Every acknowledged event is enriched, every join has been judged, and none is wrong."""
    return scene.ledger.unenriched == 0 and scene.joins.unjudged == 0 and scene.joins.wrong == 0


def _now_us() -> int:
    return time.time_ns() // 1000
