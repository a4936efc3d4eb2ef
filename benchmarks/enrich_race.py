"""One race of bench-enrich: a contestant enriches what was written while it stood still.

In:  a running process, the group and the topic it reads, and records. Out: how long it took, and CPU by process.
The clock runs from the moment the process may go on, with every record in the log, to the moment its group has
committed all of them, outputs included, because offsets and outputs are one transaction for both contestants.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil
from enrich_log import Log, Record
from stack import Stack

LOOK_EVERY_S = 0.02
PATIENCE_S = 120.0


@dataclass(frozen=True)
class Contestant:
    """`settled` says whether the process has also done what follows from its commits."""

    name: str
    group: str
    settled: Callable[[], bool] = lambda: True


@dataclass(frozen=True)
class Race:
    events: int
    seconds: float
    cpu_s: float
    broker_cpu_s: float

    @property
    def rate(self) -> float:
        return self.events / self.seconds

    @property
    def cpu_us(self) -> float:
        return self.cpu_s / self.events * 1e6

    @property
    def broker_cpu_us(self) -> float:
        return self.broker_cpu_s / self.events * 1e6


def race(stack: Stack, log: Log, who: Contestant, topic: str, records: Iterable[Record], events: int) -> Race:
    with standing_still(stack.supervisor.pid(who.name)):
        log.write(topic, records)
        ends = log.ends(topic)
        cpu_s, broker_cpu_s = stack.cpu_s(who.name), stack.cpu_s("kafka")
        began = time.perf_counter()

    def is_done() -> bool:
        committed = log.committed(who.group, topic)
        return all(map(operator.ge, committed, ends)) and who.settled()

    await_that(stack, is_done, f"{who.name} to finish")
    took = time.perf_counter() - began
    return Race(events, took, stack.cpu_s(who.name) - cpu_s, stack.cpu_s("kafka") - broker_cpu_s)


def await_that(stack: Stack, met: Callable[[], bool], what: str) -> None:
    """Kafka tells nobody how far a group is; so ask, and notice if a process dies meanwhile."""
    deadline = time.monotonic() + PATIENCE_S
    while not met():
        if time.monotonic() > deadline:
            raise SystemExit(f"waited {PATIENCE_S:.0f} s in vain for {what}; its log: {stack.supervisor.state}/logs")
        stack.supervisor.wait(LOOK_EVERY_S)


@contextmanager
def standing_still(pid: int) -> Iterator[None]:
    """Stops a process (SIGSTOP) for a while that is much shorter than what its group allows it to be silent."""
    process = psutil.Process(pid)
    process.suspend()
    try:
        yield
    finally:
        process.resume()
