"""Processes of enrichment that die again and again, by kill -9, within themselves and from outside."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.embedded.ports import free_ports

# Many transactions, and of a thousand passes of each point of one, so many are deadly.
DEADLY = {
    "PENSTOCK_ENRICHMENT_RECORDS_MAX": "5",
    "PENSTOCK_ENRICHMENT_FAILPOINTS": "before_produce=150,after_produce=150,before_commit=150,after_commit=150",
}
STRIKE_EVERY = 4  # deaths
# What else may end a process, which then says so: it came back, and for Kafka its namesake was still alive.
ENDS = ("Fenced", "FENCED_INSTANCE_ID")


@dataclass
class Life:
    process: subprocess.Popen[bytes]
    log: Path


class Instances:
    """Whoever dies is started again, by revive(), unless it was dismissed."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self._environment = os.environ | {
            "PENSTOCK_ENRICHMENT_TOPICS": "create",
            "PENSTOCK_ENRICHMENT_DRAIN_WAIT_S": "0",
            **environment,
        }
        self._folder = folder
        self._running: dict[str, Life] = {}
        self._random = random.Random()
        self._lives = 0
        self.started: set[str] = set()
        self.deaths = 0
        self.strikes = 0

    @property
    def names(self) -> list[str]:
        return list(self._running)

    def start(self, name: str, *, deadly: bool) -> None:
        port, metrics_port = free_ports(2)
        environment = self._environment | {
            "PENSTOCK_ENRICHMENT_INSTANCE": name,
            "PENSTOCK_ENRICHMENT_LISTEN": f"127.0.0.1:{port}",
            "PENSTOCK_ENRICHMENT_METRICS_LISTEN": f"127.0.0.1:{metrics_port}",
            **(DEADLY if deadly else {}),
        }
        self._lives += 1
        self.started.add(name)
        path = self._folder / f"{name}-{self._lives}.log"
        with path.open("wb") as log:
            command = [sys.executable, "-m", "penstock.enrichment"]
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self._running[name] = Life(process, path)

    def revive(self, *, deadly: bool) -> None:
        for name, life in list(self._running.items()):
            code = life.process.poll()
            if code is not None:
                text = life.log.read_text()
                assert code == -9 or any(word in text for word in ENDS), f"{name} ended with {code}:\n{text[-5000:]}"
                self.deaths += code == -9
                self.start(name, deadly=deadly)

    def strike(self) -> None:
        """Now and then, somebody dies wherever it is."""
        if self.deaths >= STRIKE_EVERY * (self.strikes + 1):
            self._random.choice(list(self._running.values())).process.kill()
            self.strikes += 1

    def dismiss(self, name: str) -> None:
        """Dies and never comes back: when its session has expired, others get its partitions."""
        life = self._running.pop(name)
        life.process.kill()
        life.process.wait()

    def stop(self) -> None:
        for name in self.names:
            self.dismiss(name)
