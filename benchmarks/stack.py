"""The stack that measurements run against: a real Kafka and a real ingestion, as processes of their own."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from penstock.embedded.kafka import start_kafka
from penstock.embedded.services import start_ingestion
from penstock.embedded.supervisor import Supervisor


@dataclass(frozen=True)
class Stack:
    bootstrap: str
    address: str
    supervisor: Supervisor

    def cpu_s(self, child: str) -> float:
        """CPU seconds of a child and of the processes it started, so far."""
        top = psutil.Process(self.supervisor.pid(child))
        times = [process.cpu_times() for process in (top, *top.children(recursive=True))]
        return sum(t.user + t.system for t in times)


@contextmanager
def stack(workers: int = 1) -> Iterator[Stack]:
    with tempfile.TemporaryDirectory() as folder, Supervisor(Path(folder), progress=say) as supervisor:
        kafka = start_kafka(supervisor, for_load=True)
        ingestion = start_ingestion(supervisor, kafka.bootstrap, workers=workers)
        yield Stack(kafka.bootstrap, ingestion.address, supervisor)


def say(line: str) -> None:
    print(line, file=sys.stderr)
