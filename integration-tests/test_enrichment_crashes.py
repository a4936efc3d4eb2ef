"""Exactly once and rightly joined, whatever dies: instances killed again and again at every stage of a transaction,
while events flow and tables change, by events and by SQL."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from deadly_instances import Instances
from enrichment_stack import EnrichmentLog, until
from penstock.embedded.captures import Captures
from penstock.embedded.services import start_ingestion
from penstock.embedded.supervisor import Supervisor
from penstock.events.v1.event_pb2 import Event
from penstock.tables.v1.row_change_pb2 import OP_UPSERT
from purchases import (
    CREATE,
    PIPELINE,
    USERS,
    Identity,
    Sent,
    identity,
    is_right,
    newest,
    prices_of,
    profiles,
    publishing,
)
from sql_ledger import Entry, SqlLedger

DEATHS = 30
DEATHS_WITHIN_S = 600.0


@pytest.mark.timeout(900)
def test_each_acknowledged_event_comes_out_once_and_rightly_joined(
    cdc: Captures, topic_prefix: str, tmp_path: Path
) -> None:
    with cdc.postgres.connect() as connection:
        connection.execute(CREATE)
        connection.execute(b"INSERT INTO profiles VALUES ('seed', 'Seed', '')")
        cdc.capture("public.profiles")
        ledger = SqlLedger(connection, "b", keys=USERS, pause_s=0.2)
        pipeline = tmp_path / "pipeline.yaml"
        pipeline.write_text(PIPELINE.format(topic=cdc.topic("public.profiles")))
        environment = {"PENSTOCK_TOPIC_PREFIX": topic_prefix, "PENSTOCK_PIPELINE": str(pipeline)}
        bootstrap = cdc.kafka.bootstrap
        log = EnrichmentLog(bootstrap, topic_prefix)
        instances = Instances(environment | {"PENSTOCK_BOOTSTRAP": bootstrap}, tmp_path)
        with Supervisor(tmp_path / "stack") as supervisor:
            service = start_ingestion(supervisor, bootstrap, environment=environment)
            try:
                for name in ("one", "two"):
                    instances.start(name, deadly=True)
                revived_until(instances, lambda: bool(log.changes("profiles")), deadly=True)  # the snapshot is over
                with publishing(service.address) as sent, ledger.written():
                    die_again_and_again(instances)
                everything_comes_out(instances, log, sent, ledger)
                joins_become_right(instances, log, ledger)
                check_once(log, sent)
            finally:
                instances.stop()


def die_again_and_again(instances: Instances) -> None:
    """Somewhere in between a third one joins and leaves, so that partitions move to and fro."""
    deadline = time.monotonic() + DEATHS_WITHIN_S
    while instances.deaths < DEATHS:
        assert time.monotonic() < deadline, f"only {instances.deaths} deaths"
        instances.revive(deadly=True)
        instances.strike()
        if instances.deaths >= DEATHS // 4 and "three" not in instances.started:
            instances.start("three", deadly=True)
        if instances.deaths >= DEATHS // 2 and "three" in instances.names:
            instances.dismiss("three")
        time.sleep(0.05)


def revived_until(instances: Instances, met: Callable[[], bool], *, deadly: bool) -> None:
    def met_now() -> bool:
        instances.revive(deadly=deadly)
        return met()

    until(met_now)


def everything_comes_out(instances: Instances, log: EnrichmentLog, sent: Sent, ledger: SqlLedger) -> None:
    changes = len(ledger.entries) + 1  # the seed
    revived_until(instances, lambda: len({identity(event) for event in log.events()}) >= len(sent), deadly=False)
    revived_until(instances, lambda: len(log.changes("profiles")) >= changes, deadly=False)


def joins_become_right(instances: Instances, log: EnrichmentLog, ledger: SqlLedger) -> None:
    """Corrections may still be under way, then the last revision of each event is what the oracle says."""
    made = [Entry("seed", OP_UPSERT, "Seed"), *ledger.entries]
    buyers, prices = profiles(log.changes("profiles"), made), prices_of(log.events())

    def are_right() -> bool:
        return all(is_right(event, buyers, prices) for event in newest(log.events()))

    revived_until(instances, are_right, deadly=False)


def check_once(log: EnrichmentLog, sent: Sent) -> None:
    """Each acknowledged event once per revision, none left out, each correction a real one; and its row once."""
    revisions: dict[Identity, list[Event]] = defaultdict(list)
    for event in sorted(log.events(), key=lambda event: event.revision):
        revisions[identity(event)].append(event)
    assert {name: dict(of_one[0].attributes) for name, of_one in revisions.items()} == sent
    for of_one in revisions.values():
        assert [event.revision for event in of_one] == list(range(len(of_one)))
        assert all(list(one.enrichments) != list(other.enrichments) for one, other in pairwise(of_one))
    assert max(map(len, revisions.values())) > 1, "nothing had to be corrected"
    about_prices = {name for name, of_one in revisions.items() if of_one[0].type != "item.bought"}
    rows = Counter(change.version.position for change in log.changes("prices"))
    assert set(rows.values()) == {1}
    assert len(rows) == len(about_prices)
