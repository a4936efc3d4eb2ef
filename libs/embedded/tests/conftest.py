import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from penstock.embedded.child import Child, Probe, at_once
from penstock.embedded.supervisor import Supervisor

MakeChild = Callable[..., Child]


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with Supervisor(tmp_path / "state") as started:
        yield started


@pytest.fixture
def python_child() -> MakeChild:
    """A child that runs a few lines of Python, for what a broker would be too slow to show."""

    def make(
        name: str,
        program: str,
        ready: Probe = at_once,
        *,
        ready_timeout_s: float = 60.0,
        stop_grace_s: float = 15.0,
    ) -> Child:
        command = (sys.executable, "-I", "-S", "-c", program)
        return Child(name, command, ready, ready_timeout_s=ready_timeout_s, stop_grace_s=stop_grace_s)

    return make


@dataclass(frozen=True)
class Change:
    """One record of a table's topic. `value` is None for a tombstone."""

    key: Any
    value: Any
    headers: dict[str, Any]

    @property
    def op(self) -> str:
        return "tombstone" if self.value is None else str(self.value["op"])

    @property
    def lsn(self) -> int:
        return int(self.value["source"]["lsn"])


ReadChanges = Callable[[str, str, Callable[[list[Change]], bool]], list[Change]]
READ_WITHIN_S = 90.0


@pytest.fixture
def read_changes() -> ReadChanges:
    """All changes on a topic with one partition, from its first record until they suffice."""

    def read(bootstrap: str, topic: str, suffice: Callable[[list[Change]], bool]) -> list[Change]:
        consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "none", "fetch.wait.max.ms": 50, "log_level": 0}
        )
        consumer.assign([TopicPartition(topic, 0, 0)])
        deadline = time.monotonic() + READ_WITHIN_S
        changes: list[Change] = []
        try:
            while not suffice(changes):
                assert time.monotonic() < deadline, f"only these arrived: {[(c.op, c.key) for c in changes]}"
                record = consumer.poll(0.2)
                if record is not None and record.error() is None:
                    changes.append(_change(record.key(), record.value(), dict(record.headers() or ())))
        finally:
            consumer.close()
        return changes

    return read


def _change(key: bytes | None, value: bytes | None, headers: dict[str, Any]) -> Change:
    return Change(None if key is None else json.loads(key), None if value is None else json.loads(value), headers)
