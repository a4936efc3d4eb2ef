"""CPU time of what bench-timeline runs, by part.

In:  processes and what they started. Out: seconds of Spark's JVM, its Python, the timeline service and the broker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass

import psutil


@dataclass(frozen=True)
class Cpu:
    """Seconds."""

    jvm: float
    python: float  # the join's workers, and Spark's driver
    service: float
    broker: float

    @property
    def total(self) -> float:
        return self.jvm + self.python + self.service + self.broker

    def __sub__(self, other: Cpu) -> Cpu:
        return Cpu(*(mine - its for mine, its in zip(astuple(self), astuple(other), strict=True)))

    def __add__(self, other: Cpu) -> Cpu:
        return Cpu(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))


def cpu_now(pid: Callable[[str], int]) -> Cpu:
    """`pid` knows the children by name."""
    jobs = list(tree(pid("jobs")))
    java = [process for process in jobs if process.name() == "java"]
    return Cpu(
        jvm=sum(map(seconds, java)),
        python=sum(seconds(process) for process in jobs if process not in java),
        service=sum(map(seconds, tree(pid("timeline")))),
        broker=sum(map(seconds, tree(pid("kafka")))),
    )


def tree(pid: int) -> Iterator[psutil.Process]:
    top = psutil.Process(pid)
    yield top
    yield from top.children(recursive=True)


def seconds(process: psutil.Process) -> float:
    """Of the process and of those that it started and that have ended."""
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:  # ended since it was found: its parent has its time
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)


@contextmanager
def standing_still(pid: int) -> Iterator[None]:
    """Stops a process and all that it started (SIGSTOP) for a while. Spark may end idle workers at any time."""
    processes = list(tree(pid))
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
    try:
        yield
    finally:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.resume()
