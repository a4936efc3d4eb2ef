"""kill -9 of the broker and of ingestion under load, again and again: what was acknowledged is in the log.

The client keeps the ledger: every receipt that it got. Nothing else is believed.
"""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

from penstock.client import Plaintext, Publisher, PublisherSettings, Receipt, Status
from penstock.embedded.kafka import start_kafka
from penstock.embedded.services import start_ingestion
from penstock.embedded.supervisor import Supervisor
from running_stack import RawLog

DEVICES = 6
BAD_EVERY = 50
PATIENT = PublisherSettings(
    batch_events_max=50,
    linger_s=0.002,
    retry_initial_s=0.05,
    retry_max_s=0.5,
    request_timeout_s=5,
    delivery_timeout_s=240,
)
GOOD = ("page.viewed", {"user": "ada", "page": "/"})
BAD = ("page.vanished", {"user": "ada"})


def publish_until(stop: threading.Event, address: str, device_id: str, ledger: list[Receipt]) -> None:
    """Publishes in bursts that wait for their receipts, so that load goes on across every crash."""
    with Publisher(address, device_id, security=Plaintext(), settings=PATIENT) as publisher:
        sent = 0
        while not stop.is_set():
            pending = []
            for _ in range(500):
                sent += 1
                pending.append(publisher.publish(*(BAD if sent % BAD_EVERY == 0 else GOOD)))
            ledger.extend(one.result(240) for one in pending)


def test_nothing_acknowledged_is_lost_and_nothing_refused_comes_out(tmp_path: Path) -> None:
    with Supervisor(tmp_path / "stack") as supervisor:
        kafka = start_kafka(supervisor)
        service = start_ingestion(supervisor, kafka.bootstrap, workers=2)
        stop, ledgers = threading.Event(), {f"device-{number}": list[Receipt]() for number in range(DEVICES)}
        threads = [
            threading.Thread(target=publish_until, args=(stop, service.address, device_id, ledger))
            for device_id, ledger in ledgers.items()
        ]
        for thread in threads:
            thread.start()
        try:
            for victims in (["ingestion"], ["kafka"], ["kafka", "ingestion"], ["ingestion"], ["kafka"]):
                acknowledged = sum(map(len, ledgers.values()))
                assert progressed(ledgers, acknowledged + 1_000, threads), "the load stalled before the next crash"
                for victim in victims:
                    supervisor.kill(victim)
                for victim in victims:
                    supervisor.restart(victim)
            assert progressed(ledgers, sum(map(len, ledgers.values())) + 1_000, threads), "no recovery"
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        check(ledgers, RawLog(kafka.bootstrap, ""))


def progressed(ledgers: dict[str, list[Receipt]], target: int, threads: list[threading.Thread]) -> bool:
    """Waits until the ledgers hold so many receipts; False if a publisher gave up instead."""
    waiting = threading.Event()
    for _ in range(1_200):
        if sum(map(len, ledgers.values())) >= target:
            return True
        if not all(thread.is_alive() for thread in threads):
            return False
        waiting.wait(0.1)
    return False


def check(ledgers: dict[str, list[Receipt]], log: RawLog) -> None:
    in_log = Counter((batch.device_id, event.boot_id or batch.boot_id, event.seq) for batch, event in log.events())
    statuses: Counter[Status] = Counter()
    for device_id, ledger in ledgers.items():
        for receipt in ledger:
            statuses[receipt.status] += 1
            identity = (device_id, receipt.boot_id, receipt.seq)
            if receipt.delivered:
                assert identity in in_log, f"acknowledged and lost: {identity}"
            else:
                assert identity not in in_log, f"refused and yet an event: {identity}"
    assert statuses[Status.ACCEPTED] > 5_000
    assert statuses[Status.REFUSED] > 50
    assert all(event.type != BAD[0] for _, event in log.events())
