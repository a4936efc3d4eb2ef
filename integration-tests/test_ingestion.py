"""Ingestion as an operator meets it: signals, workers, ports, metrics."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import grpc
import psutil
import pytest
from penstock.client import Plaintext, Publisher, PublisherSettings, Status
from penstock.embedded.broker import Kafka
from penstock.embedded.ports import free_ports
from penstock.events.v1.event_pb2 import CLOCK_METHOD_ECHO
from penstock.ingest.v1.ingest_pb2 import PublishRequest
from penstock.ingest.v1.ingest_pb2_grpc import IngestServiceStub
from running_stack import Ingestion

VIEW = ("page.viewed", {"user": "ada", "page": "/"})
SMALL = PublisherSettings(batch_events_max=10, linger_s=0.005)


def scrape(ingestion: Ingestion) -> dict[str, float]:
    with urllib.request.urlopen(ingestion.service.metrics, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def until(met: Callable[[], bool]) -> None:
    """Asks again until it is so, for a bounded time."""
    for _ in range(300):
        if met():
            return
        time.sleep(0.1)
    raise AssertionError("it did not become so")


def test_events_of_two_workers_are_added_up(ingestion: Ingestion) -> None:
    for number in range(6):  # each publisher has a connection of its own, so both workers get some
        with Publisher(ingestion.address, f"d{number}", security=Plaintext(), settings=SMALL) as publisher:
            for _ in range(50):
                publisher.publish(*VIEW)
    accepted = 'penstock_ingestion_events_total{outcome="accepted",type="page.viewed"}'
    until(lambda: scrape(ingestion)[accepted] >= 300)  # metrics are a quarter of a second behind
    metrics = scrape(ingestion)
    assert metrics[accepted] == 300
    assert metrics['penstock_ingestion_clock_events_total{method="ECHO"}'] == 300
    assert metrics["penstock_ingestion_inflight_bytes"] == 0
    assert len(ingestion.log.identities()) == 300


def test_every_event_gets_a_time_with_a_bound_from_a_client_that_echoes(ingestion: Ingestion) -> None:
    with Publisher(ingestion.address, "d", security=Plaintext(), settings=SMALL) as publisher:
        publisher.publish(*VIEW).result(30)
    (batch,) = ingestion.log.batches()
    assert batch.stamp.method == CLOCK_METHOD_ECHO
    assert batch.stamp.offset_min_us <= batch.stamp.offset_us <= batch.stamp.offset_max_us


def test_sigterm_drains_and_exits_clean_and_nothing_acknowledged_is_lost(ingestion: Ingestion) -> None:
    settings = PublisherSettings(batch_events_max=20, linger_s=0.001, retry_initial_s=0.05, retry_max_s=0.2)
    with Publisher(ingestion.address, "d", security=Plaintext(), settings=settings) as publisher:
        early = [publisher.publish(*VIEW) for _ in range(2_000)]
        early[100].result(30)
        assert ingestion.supervisor.end("ingestion") == 0
        ingestion.supervisor.restart("ingestion")
        receipts = [pending.result(60) for pending in early]
    assert {receipt.status for receipt in receipts} <= {Status.ACCEPTED, Status.DUPLICATE}
    assert {seq for _, seq in ingestion.identities("d")} == set(range(1, 2_001))


def test_workers_end_when_their_parent_is_killed(ingestion: Ingestion) -> None:
    parent = psutil.Process(ingestion.supervisor.pid("ingestion"))
    workers = parent.children()
    assert len(workers) == 2
    os.kill(parent.pid, signal.SIGKILL)
    gone, alive = psutil.wait_procs(workers, timeout=30)
    assert (len(gone), alive) == (2, [])


def test_a_worker_that_dies_ends_the_whole(ingestion: Ingestion) -> None:
    parent = psutil.Process(ingestion.supervisor.pid("ingestion"))
    one, other = parent.children()
    one.kill()
    gone, _ = psutil.wait_procs([other, parent], timeout=30)
    assert other in gone
    assert "ended with -9; stopping" in ingestion.supervisor.log("ingestion").read_text()


def run_ingestion(**settings: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {f"PENSTOCK_INGESTION_{name}": value for name, value in settings.items()}
    command = [sys.executable, "-m", "penstock.ingestion"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_a_port_in_use_is_one_clear_line(ingestion: Ingestion) -> None:
    ended = run_ingestion(LISTEN=ingestion.address)
    assert ended.returncode == 2
    assert f"cannot listen on {ingestion.address}: Address already in use" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_wrong_settings_are_all_told(kafka: Kafka) -> None:
    ended = run_ingestion(WORKERS="x", LISTEN="y")
    assert ended.returncode == 2
    assert "WORKERS='x'" in ended.stderr
    assert "LISTEN='y'" in ended.stderr


def test_a_request_larger_than_allowed_is_refused_with_the_sizes(ingestion: Ingestion) -> None:
    with grpc.insecure_channel(ingestion.address) as channel:
        request = PublishRequest(device_id="d", boot_id="b", clock_token=b"x" * (4 << 20))
        with pytest.raises(grpc.RpcError) as caught:
            IngestServiceStub(channel).Publish(request, timeout=10)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "at most 4,194,304 are taken" in (caught.value.details() or "")


def test_without_kafka_it_says_so_and_stops_when_told(tmp_path: Path) -> None:
    (port, metrics_port) = free_ports(2)
    environment = os.environ | {
        "PENSTOCK_BOOTSTRAP": "127.0.0.1:1",
        "PENSTOCK_INGESTION_LISTEN": f"127.0.0.1:{port}",
        "PENSTOCK_INGESTION_METRICS_LISTEN": f"127.0.0.1:{metrics_port}",
        "PENSTOCK_INGESTION_DRAIN_WAIT_S": "0",
    }
    log = tmp_path / "log"
    with log.open("wb") as file:
        command = [sys.executable, "-m", "penstock.ingestion"]
        process = subprocess.Popen(command, env=environment, stdout=file, stderr=file)
    try:
        until(lambda: "not serving yet: Kafka at 127.0.0.1:1 did not answer" in log.read_text())
        process.terminate()
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
    assert "stopped" in log.read_text()
    assert len(log.read_text().splitlines()) < 30, "the same thing was said again and again"
