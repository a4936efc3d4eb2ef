"""The end of a demo: what is left is handed in, all parts catch up, everything is looked for and compared.

In:  the tasks that are still at work. Out: the scene, complete.
Every step has a limit. What is not done by then is said, and is no reason to wait.
"""

import asyncio
import time
from dataclasses import dataclass

import grpc
from penstock.client import Timelines, TimelinesError
from penstock.demo import audit
from penstock.demo.catching_up import Reached, ends, is_caught_up
from penstock.demo.database import Database
from penstock.demo.joins import TABLE
from penstock.demo.log_reader import LogReader
from penstock.demo.lookups import Lookups, differing
from penstock.demo.scene import Scene
from penstock.demo.stack import DEBEZIUM
from penstock.embedded.supervisor import Supervisor

# How long the devices may take to hand in what they hold, a log to be read, and each of enrichment and the timelines
# to catch up.
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
    """`reached`: how far the join has come, kept up to date by others."""

    scene: Scene
    raw: Reading
    enriched: Reading
    reached: Reached
    timelines: Timelines
    database: Database
    supervisor: Supervisor

    async def run(self, makers: Tasks) -> None:
        """`makers`: who makes events and changes, and has been told that time is over."""
        scene = self.scene
        scene.ending = "handing in what is left …"
        await hand_in(makers)
        # What somebody publishes from a second terminal now would change what is about to be compared.
        await asyncio.to_thread(self.supervisor.end, scene.stack.ingestion.name)
        scene.is_log_read = await self.raw.to_the_end()
        scene.ending = "enrichment catches up …"
        await self._enrichment_catches_up()
        scene.is_enriched_log_read = await self.enriched.to_the_end()
        scene.joins.judge(_now_us())
        scene.ending = "timelines catch up …"
        scene.are_timelines_caught_up = await self._timelines_catch_up()
        scene.ending = "Spark computes all timelines again …"
        scene.audit, *_ = await asyncio.gather(
            asyncio.to_thread(audit.run, self.supervisor, scene.stack),
            asyncio.to_thread(self._end_what_is_done),
        )

    def _end_what_is_done(self) -> None:
        """The audit needs Kafka, the timelines, and the processor for itself."""
        for name in (self.scene.stack.jobs.name, self.scene.stack.enrichment.name, DEBEZIUM):
            self.supervisor.end(name)

    async def _enrichment_catches_up(self) -> None:
        scene, deadline = self.scene, time.monotonic() + CATCH_UP_S
        with Lookups(scene.stack.enrichment.address, TABLE) as lookups:
            while time.monotonic() < deadline:
                await asyncio.to_thread(self.supervisor.check)
                if scene.rows_differing != 0:
                    await self._compare(lookups)
                scene.joins.judge(_now_us())
                if scene.rows_differing == 0 and is_complete(scene):
                    return
                await asyncio.sleep(_LOOK_EVERY_S)

    async def _timelines_catch_up(self) -> bool:
        """Whether they did in time. Nobody writes to the tables any more, only refills may still be asked for."""
        scene, deadline = self.scene, time.monotonic() + CATCH_UP_S
        while time.monotonic() < deadline:
            await asyncio.to_thread(self.supervisor.check)
            last = await asyncio.to_thread(ends, scene.stack.bootstrap, scene.pipeline)
            try:
                state = await asyncio.to_thread(self.timelines.describe)
            except TimelinesError:
                state = None  # it is asked again; if the service has died, `check` says so
            if state is not None and is_caught_up(last, self.reached, state) and not scene.probe.under_way:
                return True
            await asyncio.sleep(_LOOK_EVERY_S)
        return False

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
