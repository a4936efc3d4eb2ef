"""Kills parts of the join and of the timeline service, and brings back what does not come back by itself.

The driver is one process group with its JVM. Spark's Python workers are another one, and their death is for Spark to
cope with. The service also dies within itself, by its failpoints. All by kill -9.
"""

from __future__ import annotations

import random
import signal
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from urllib.request import urlopen

import psutil
from enrichment_stack import until
from penstock.embedded.errors import ChildDiedError
from penstock.embedded.jobs import Jobs
from penstock.embedded.services import Service
from penstock.embedded.supervisor import Supervisor

# Of a thousand passes of each point, so many are deadly: one every few seconds.
DEADLY = "applied=1,image_taken=20,snapshot_partial=40,snapshot_moved=40,snapshot_written=20,refill_asked=1"
ORPHANS_END_WITHIN_S = 30.0
_DAEMON = "pyspark.daemon"


class DeadlyService:
    """Its supervisor looks after nothing else."""

    def __init__(self, supervisor: Supervisor, service: Service) -> None:
        self._supervisor = supervisor
        self._service = service
        self.deaths = 0

    def kill(self) -> None:
        """And it comes back."""
        self._supervisor.kill(self._service.name)
        self.deaths += 1
        self._restart()

    def revive(self) -> None:
        """If it has died."""
        try:
            self._supervisor.check()
        except ChildDiedError as death:
            self._count(death)
            self._restart()

    def _restart(self) -> None:
        """It may die again before it serves."""
        while True:
            try:
                self._supervisor.restart(self._service.name)
            except ChildDiedError as death:
                self._count(death)
            else:
                return

    def _count(self, death: ChildDiedError) -> None:
        assert death.exit_code == -signal.SIGKILL, death
        self.deaths += 1


class DeadlyJoin:
    """A restart takes a while: others may die meanwhile."""

    def __init__(self, supervisor: Supervisor, jobs: Jobs, chance: random.Random) -> None:
        self._supervisor = supervisor
        self._jobs = jobs
        self._random = chance
        self._thread = ThreadPoolExecutor(1)
        self._restarting: Future[None] | None = None
        self.driver_deaths = 0
        self.worker_deaths = 0

    def kill_driver(self) -> None:
        self.is_back()
        orphans = self.workers()
        self._supervisor.kill(self._jobs.name)
        self.driver_deaths += 1
        _, left = psutil.wait_procs(orphans, ORPHANS_END_WITHIN_S)  # by themselves: their group is another
        assert not left, left
        self._restarting = self._thread.submit(self._supervisor.restart, self._jobs.name)

    def kill_worker(self) -> None:
        """One of those that work, or the one that forks them and with it all of them; then Spark must go on."""
        self.is_back()
        before = batches(self._jobs)
        until(lambda: bool(self.workers()))
        with suppress(psutil.NoSuchProcess):
            self._random.choice(self.workers()).kill()
            self.worker_deaths += 1
        until(lambda: batches(self._jobs) > before + 1)

    def is_back(self) -> None:
        """Waits for it; raises if it died by itself."""
        if self._restarting is not None:
            self._restarting.result()
        self._supervisor.check()

    def workers(self) -> list[psutil.Process]:
        """By what they were started with: of those whose parent has died, the driver is no ancestor any more."""
        return [process for process in psutil.process_iter() if is_worker(process, self._jobs)]


def batches(jobs: Jobs) -> float:
    """Finished since the driver was started."""
    with urlopen(jobs.metrics, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("penstock_jobs_batches_total{"))


def family(pid: int) -> list[psutil.Process]:
    """The process and all below it."""
    top = psutil.Process(pid)
    return [top, *top.children(recursive=True)]


def is_worker(process: psutil.Process, jobs: Jobs) -> bool:
    try:
        if _DAEMON not in process.cmdline():
            return False
        return process.environ().get("PENSTOCK_JOBS_METRICS_LISTEN", "-") in jobs.metrics
    except psutil.Error:  # it has ended, or is not ours
        return False
