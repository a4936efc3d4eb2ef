"""Exactly once, whatever dies: two instances killed again and again at every stage of a transaction, under load."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from penstock.client import Plaintext, Publisher, PublisherSettings, Receipt
from penstock.embedded.broker import Kafka
from penstock.embedded.ports import free_ports
from penstock.embedded.services import start_ingestion
from penstock.embedded.supervisor import Supervisor
from penstock.events.v1.event_pb2 import ENRICHMENT_STATUS_MISSING, Event
from penstock.tables.v1.row_change_pb2 import RowChange
from penstock.topics import load
from penstock.topics.content import content

DEATHS = 30
PATIENCE_S = 240.0
# Of a thousand passes of each point, so many are deadly.
DEADLY = "after_produce=120,before_commit=120,after_commit=120"
SETTINGS = PublisherSettings(batch_events_max=20, linger_s=0.005)


class Instances:
    """Two processes of enrichment; whoever dies is started again."""

    def __init__(self, kafka: Kafka, prefix: str, folder: Path) -> None:
        self._environment = os.environ | {
            "PENSTOCK_BOOTSTRAP": kafka.bootstrap,
            "PENSTOCK_TOPIC_PREFIX": prefix,
            "PENSTOCK_ENRICHMENT_TOPICS": "create",
            "PENSTOCK_ENRICHMENT_DRAIN_WAIT_S": "0",
            "PENSTOCK_ENRICHMENT_RECORDS_MAX": "5",
        }
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.deaths = 0

    def start(self, name: str, *, deadly: bool) -> None:
        port, metrics_port = free_ports(2)
        environment = self._environment | {
            "PENSTOCK_ENRICHMENT_INSTANCE": name,
            "PENSTOCK_ENRICHMENT_LISTEN": f"127.0.0.1:{port}",
            "PENSTOCK_ENRICHMENT_METRICS_LISTEN": f"127.0.0.1:{metrics_port}",
            "PENSTOCK_ENRICHMENT_FAILPOINTS": DEADLY if deadly else "",
        }
        with (self._folder / f"{name}.log").open("ab") as log:
            command = [sys.executable, "-m", "penstock.enrichment"]
            self._running[name] = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def revive(self, *, deadly: bool) -> None:
        for name, process in list(self._running.items()):
            code = process.poll()
            if code is not None:
                # 1: the namesake before it was not yet gone for Kafka, and it was fenced. -9: a failpoint.
                assert code in {-9, 1}, (self._folder / f"{name}.log").read_text()[-3000:]
                self.deaths += code == -9
                self.start(name, deadly=deadly)

    def stop(self) -> None:
        for process in self._running.values():
            process.kill()
            process.wait()


def publish_until(stop: threading.Event, address: str, device_id: str, ledger: list[Receipt]) -> None:
    with Publisher(address, device_id, security=Plaintext(), settings=SETTINGS) as publisher:
        number = 0
        while not stop.is_set():
            pending = []
            for _ in range(20):
                number += 1
                attributes = {"author": f"a{number % 7}", "post_id": f"{device_id}-{number}"}
                pending.append(publisher.publish("post.created", attributes))
            ledger.extend(one.result(60) for one in pending)
            stop.wait(0.2)


@pytest.mark.timeout(900)
def test_each_acknowledged_event_comes_out_once(kafka: Kafka, topic_prefix: str, tmp_path: Path) -> None:
    instances = Instances(kafka, topic_prefix, tmp_path)
    stop, ledgers = threading.Event(), {f"device-{number}": list[Receipt]() for number in range(8)}
    with Supervisor(tmp_path / "stack") as supervisor:
        service = start_ingestion(supervisor, kafka.bootstrap, environment={"PENSTOCK_TOPIC_PREFIX": topic_prefix})
        threads = [
            threading.Thread(target=publish_until, args=(stop, service.address, device_id, ledger))
            for device_id, ledger in ledgers.items()
        ]
        try:
            for name in ("one", "two"):
                instances.start(name, deadly=True)
            for thread in threads:
                thread.start()
            deadline = time.monotonic() + 2 * PATIENCE_S
            while instances.deaths < DEATHS:
                assert time.monotonic() < deadline, f"only {instances.deaths} deaths"
                instances.revive(deadly=True)
                time.sleep(0.05)
            stop.set()
            for thread in threads:
                thread.join()
            acknowledged = {
                (device_id, receipt.boot_id, receipt.seq)
                for device_id, ledger in ledgers.items()
                for receipt in ledger
                if receipt.delivered
            }
            found = wait_for(instances, kafka, topic_prefix, len(acknowledged))
        finally:
            stop.set()
            instances.stop()
    assert {identity for identity, _ in found} == acknowledged
    assert max(found.values()) == 1, "an event came out twice"
    check_rows(kafka, topic_prefix, acknowledged)


def wait_for(instances: Instances, kafka: Kafka, prefix: str, count: int) -> Counter[tuple[tuple[str, str, int], int]]:
    """The enriched log by (identity, revision), once it holds as many events as there should be."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        instances.revive(deadly=False)
        found = enriched(kafka, prefix)
        if len(found) >= count:
            return found
        assert time.monotonic() < deadline, f"{len(found)} of {count} events came out"
        time.sleep(0.5)


def enriched(kafka: Kafka, prefix: str) -> Counter[tuple[tuple[str, str, int], int]]:
    found: Counter[tuple[tuple[str, str, int], int]] = Counter()
    name = load().prefixed(prefix).kafka_name("events.enriched.v1")
    for message in content({"bootstrap.servers": kafka.bootstrap}, name):
        event = Event.FromString(message.value() or b"")
        assert [one.status for one in event.enrichments] == [ENRICHMENT_STATUS_MISSING]  # there are no profiles
        found[(event.device_id, event.boot_id, event.seq), event.revision] += 1
    return found


def check_rows(kafka: Kafka, prefix: str, acknowledged: set[tuple[str, str, int]]) -> None:
    """Each event wrote its row once, in the same transactions."""
    keys: Counter[str] = Counter()
    for message in content({"bootstrap.servers": kafka.bootstrap}, f"{prefix}tables.posts.v1"):
        keys[RowChange.FromString(message.value() or b"").key] += 1
    assert len(keys) == len(acknowledged)
    assert set(keys.values()) == {1}
