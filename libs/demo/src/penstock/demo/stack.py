"""The real thing: Kafka and ingestion, as children of this process.

In:  a supervisor. Out: addresses that answer, one line of progress per step.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TypeVar

from penstock.embedded.errors import ChildError
from penstock.embedded.kafka import start_kafka
from penstock.embedded.services import start_ingestion
from penstock.embedded.supervisor import Supervisor

Write = Callable[[str], None]
"""Writes to the terminal at once, without a line's end."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class Stack:
    bootstrap: str
    server: str
    metrics: str


def start(supervisor: Supervisor, write: Write) -> Stack:
    """Returns when both answer."""
    kafka = _step(write, "Kafka", lambda: start_kafka(supervisor), lambda kafka: kafka.bootstrap)
    ingestion = _step(
        write, "ingestion", lambda: start_ingestion(supervisor, kafka.bootstrap), lambda service: service.address
    )
    return Stack(kafka.bootstrap, ingestion.address, ingestion.metrics)


def _step(write: Write, name: str, begin: Callable[[], _T], address: Callable[[_T], str]) -> _T:
    write(f"==> {name} … ")
    began = time.monotonic()
    try:
        started = begin()
    except BaseException:
        write("\n")  # what went wrong gets a line of its own
        raise
    write(f"answers on {address(started)} after {time.monotonic() - began:.1f} s\n")
    return started


@contextmanager
def state_folder() -> Iterator[Path]:
    """A folder that is gone afterwards; where a child has failed, its logs stay to be read."""
    folder = Path(mkdtemp(prefix="penstock-demo-"))
    try:
        yield folder
    except ChildError:
        for path in folder.iterdir():
            if path.name != "logs":
                rmtree(path) if path.is_dir() else path.unlink()
        raise
    except BaseException:
        rmtree(folder)
        raise
    rmtree(folder)
