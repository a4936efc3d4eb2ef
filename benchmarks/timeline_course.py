"""The pipeline that bench-timeline measures: a Kafka, the join in Spark, the timeline service, each a process.

In:  rows of the tables. Out: how long it takes until readers see all of them, and what that costs by part.
In a burst the join stands still (SIGSTOP) while the rows are written. The clock runs from the moment it may go on to
the moment the service has applied every delivery that reflects them: from the tables' topics to the inboxes.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import grpc
from penstock.embedded.jobs import Jobs, start_jobs
from penstock.embedded.kafka import start_kafka
from penstock.embedded.services import Service, start_timeline
from penstock.embedded.supervisor import Supervisor
from penstock.pipeline import example
from penstock.timeline.v1.timeline_pb2 import DescribeRequest, DescribeResponse
from penstock.timeline.v1.timeline_pb2_grpc import TimelineServiceStub
from stack import say
from timeline_cpu import Cpu, cpu_now, standing_still
from timeline_data import Row
from timeline_log import Ends, JoinLog, Writer

PATIENCE_S = 900.0
ASK_TIMEOUT_S = 60.0
LOOK_EVERY_S = 0.02
BROKER_HEAP_MB = 512
ENTRIES = "penstock_timeline_entries_total"
ADDED = '{change="added"}'


@dataclass(frozen=True)
class Burst:
    """`entries` are pairs of a post and a reader that entered inboxes."""

    rows: int
    entries: int
    seconds: float
    cpu: Cpu

    @property
    def rate(self) -> float:
        return self.entries / self.seconds

    @property
    def cpu_us(self) -> float:
        """Per entry."""
        return self.cpu.total / self.entries * 1e6


@dataclass(frozen=True)
class Described:
    """What the service holds, all partitions together."""

    answer: DescribeResponse

    @property
    def users(self) -> int:
        return sum(one.users for one in self.answer.partitions)

    @property
    def entries(self) -> int:
        return sum(one.entries for one in self.answer.partitions)

    @property
    def posts(self) -> int:
        return sum(one.posts for one in self.answer.partitions)

    @property
    def memory_bytes(self) -> int:
        return sum(one.bytes for one in self.answer.partitions)

    @property
    def refilling(self) -> int:
        return sum(one.refilling for one in self.answer.partitions)

    @property
    def hashes(self) -> list[int]:
        return [int.from_bytes(one.content_hash, "little") for one in self.answer.partitions]

    def reaches(self, ends: Mapping[int, int]) -> bool:
        applied = {place.partition: place.offset + 1 for one in self.answer.partitions for place in one.applied}
        return all(applied.get(number, 0) >= end for number, end in ends.items())


class Course:
    """`settings` are what all parts share."""

    def __init__(
        self, supervisor: Supervisor, bootstrap: str, jobs: Jobs, service: Service, settings: Mapping[str, str]
    ) -> None:
        self.supervisor = supervisor
        self.settings = settings
        self.bootstrap = bootstrap
        self.jobs = jobs
        self.service = service
        self.writer = Writer(bootstrap)
        self._join = JoinLog(bootstrap)
        self._channel = grpc.insecure_channel(service.address)
        self.stub = TimelineServiceStub(self._channel)

    def close(self) -> None:
        self._channel.close()
        self._join.close()
        self.writer.close()

    def cpu(self) -> Cpu:
        return cpu_now(self.supervisor.pid)

    def warm_up(self, rows: Iterable[Row]) -> None:
        """Before the first burst: Spark's workers must be there, or they miss each other while all stand still."""
        self.writer.write(rows)
        self._await_applied(self._join.ends())

    def burst(self, rows: Iterable[Row]) -> Burst:
        with standing_still(self.supervisor.pid("jobs")):
            count = self.writer.write(rows)
            ends, entries, cpu = self._join.ends(), self.entries_added(), self.cpu()
            began = time.perf_counter()
        self._await_applied(ends)
        took = time.perf_counter() - began
        return Burst(count, self.entries_added() - entries, took, self.cpu() - cpu)

    def settle(self) -> None:
        """Until all that was written is applied, and no inbox waits for older posts."""
        self._await_applied(self._join.ends())
        self.await_that(lambda: self.described().refilling == 0, "refills to end")

    def entries_added(self) -> int:
        return int(metrics(self.service.metrics, ENTRIES).get(ADDED, 0))

    def described(self, *, with_hash: bool = False) -> Described:
        answer = self.stub.Describe(DescribeRequest(with_hash=with_hash), timeout=PATIENCE_S)
        return Described(answer)

    def await_that(self, met: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
        """Asks again and again, and notices if a process dies meanwhile."""
        deadline = time.monotonic() + patience_s
        while not met():
            if time.monotonic() > deadline:
                raise SystemExit(f"waited {patience_s:.0f} s in vain for {what}; logs: {self.supervisor.state}/logs")
            self.supervisor.wait(LOOK_EVERY_S)

    def _await_applied(self, ends: Ends) -> None:
        self.await_that(lambda: self._join.reflects(ends), "the join to read all rows")
        delivered = dict(self._join.delivered)
        self.await_that(lambda: self.described().reaches(delivered), "the service to apply all deliveries")


@contextmanager
def course(merge_above: int) -> Iterator[Course]:
    """`merge_above`: from more followers than this on, readers merge."""
    with state_folder() as folder, Supervisor(folder, progress=say) as supervisor:
        pipeline = folder / "pipeline.yaml"
        pipeline.write_text(pipeline_text(merge_above), encoding="utf-8")
        settings = {"PENSTOCK_PIPELINE": str(pipeline)}
        kafka = start_kafka(supervisor, for_load=True, heap_mb=BROKER_HEAP_MB)
        say("starting Spark and the timeline service")
        jobs = start_jobs(supervisor, kafka.bootstrap, environment=settings)
        service = start_timeline(supervisor, kafka.bootstrap, environment=settings)
        on = Course(supervisor, kafka.bootstrap, jobs, service, settings)
        try:
            yield on
        finally:
            on.close()


@contextmanager
def state_folder() -> Iterator[Path]:
    """Gone afterwards; where something has failed, logs stay to be read."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        yield folder
    except BaseException:
        for path in folder.iterdir():
            if path.name != "logs":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        raise
    shutil.rmtree(folder)


def pipeline_text(merge_above: int) -> str:
    """The default pipeline, but for when readers merge."""
    text, count = re.subn(r"(?m)^(  merge_at_read_above:) \d+$", rf"\1 {merge_above}", example("social"))
    if count != 1:
        raise ValueError(f"social.yaml has {count} lines that set merge_at_read_above, not one")
    return text


def metrics(url: str, name: str) -> dict[str, float]:
    """The series of a metric by their labels, as they are written: {change="added"}."""
    with urlopen(url, timeout=ASK_TIMEOUT_S) as answer:
        lines = answer.read().decode().splitlines()
    series = (line.removeprefix(name).rpartition(" ") for line in lines if line.startswith((f"{name}{{", f"{name} ")))
    return {labels: float(value) for labels, _, value in series}
