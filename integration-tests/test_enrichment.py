"""Events joined with the row that was valid when they happened, from a real database to the enriched log."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from penstock.client import Plaintext, Publisher, Reading
from penstock.embedded.captures import Captures
from penstock.embedded.services import Service, start_enrichment, start_ingestion
from penstock.embedded.supervisor import Supervisor
from penstock.enrich.v1.enrich_pb2 import DescribeRequest, LookupRequest, LookupResponse
from penstock.enrich.v1.enrich_pb2_grpc import EnrichmentServiceStub
from penstock.events.v1.event_pb2 import (
    ENRICHMENT_STATUS_DELETED,
    ENRICHMENT_STATUS_MATCHED,
    ENRICHMENT_STATUS_MISSING,
    Event,
)
from penstock.topics import load
from penstock.topics.content import content

PIPELINE = """
version: 1
tables:
  profiles:
    about: Users.
    source: {{debezium: {{topic: {topic}}}}}
    key: user_id
    columns: [name, bio]
    history: {{versions: 100, age: 30d}}
event_types:
  page.viewed:
    about: A user looked at a page.
    required: [user, page]
    key: user
enrichments:
  - {{event_type: page.viewed, table: profiles, on: user, as: user}}
"""
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Stack:
    cdc: Captures
    prefix: str
    ingestion: Service
    enrichment: Service
    supervisor: Supervisor

    def sql(self, statement: str) -> None:
        with self.cdc.postgres.connect() as connection:
            connection.execute(statement.encode())

    def lookup(self, key: str) -> LookupResponse:
        with grpc.insecure_channel(self.enrichment.address) as channel:
            return EnrichmentServiceStub(channel).Lookup(LookupRequest(table="profiles", key=key), timeout=10)

    def metrics(self) -> str:
        with urllib.request.urlopen(self.enrichment.metrics, timeout=10) as answer:
            text: str = answer.read().decode()
        return text

    def enriched(self) -> list[Event]:
        name = load().prefixed(self.prefix).kafka_name("events.enriched.v1")
        kafka = {"bootstrap.servers": self.cdc.kafka.bootstrap}
        return [Event.FromString(message.value() or b"") for message in content(kafka, name)]


def until(met: Callable[[], bool]) -> None:
    """Asks again until it is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not met():
        assert time.monotonic() < deadline, "it did not become so"
        time.sleep(0.1)


@pytest.fixture
def stack(cdc: Captures, topic_prefix: str, tmp_path: Path) -> Iterator[Stack]:
    with cdc.postgres.connect() as connection:
        connection.execute(b"CREATE TABLE profiles (user_id text PRIMARY KEY, name text, bio text)")
        connection.execute(b"INSERT INTO profiles VALUES ('old', 'from the snapshot', 'x')")
    cdc.capture("public.profiles")
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(PIPELINE.format(topic=cdc.topic("public.profiles")))
    environment = {"PENSTOCK_TOPIC_PREFIX": topic_prefix, "PENSTOCK_PIPELINE": str(pipeline)}
    with Supervisor(tmp_path / "stack") as supervisor:
        bootstrap = cdc.kafka.bootstrap
        ingestion = start_ingestion(supervisor, bootstrap, environment=environment)
        enrichment = start_enrichment(
            supervisor,
            bootstrap,
            environment=environment | {"PENSTOCK_ENRICHMENT_STATE_FOLDER": str(tmp_path / "tables")},
        )
        yield Stack(cdc, topic_prefix, ingestion, enrichment, supervisor)


def test_an_event_gets_the_row_that_was_valid_when_it_happened(stack: Stack) -> None:
    until(lambda: stack.lookup("old").columns["name"] == "from the snapshot")
    stack.sql("INSERT INTO profiles VALUES ('ann', 'Ann', 'b')")
    until(lambda: stack.lookup("ann").status == ENRICHMENT_STATUS_MATCHED)
    stack.sql("UPDATE profiles SET name = 'Anna' WHERE user_id = 'ann'")
    until(lambda: stack.lookup("ann").columns["name"] == "Anna")
    changed_us = stack.lookup("ann").version.valid_from_us
    stack.sql("DELETE FROM profiles WHERE user_id = 'ann'")
    until(lambda: stack.lookup("ann").status == ENRICHMENT_STATUS_DELETED)
    deleted_us = stack.lookup("ann").version.valid_from_us
    times = {"long before": changed_us - 3_600_000_000, "before": changed_us - 1, "between": deleted_us - 1, "after": 0}
    with Publisher(stack.ingestion.address, "d", security=Plaintext(), clocks=WallOnly()) as publisher:
        for name, wall_us in times.items():
            occurred = Reading(wall_us or time.time_ns() // 1000)
            publisher.publish("page.viewed", {"user": "ann", "page": name}, occurred=occurred)
    until(lambda: len(stack.enriched()) == len(times))
    found = {event.attributes["page"]: event.enrichments[0] for event in stack.enriched()}
    assert found["long before"].status == ENRICHMENT_STATUS_MISSING
    assert found["after"].status == ENRICHMENT_STATUS_DELETED
    for event in stack.enriched():
        expected = expected_name(event.clock.corrected_us, changed_us, deleted_us)
        if event.attributes["page"] in {"before", "between"}:
            assert event.enrichments[0].columns["name"] == expected
    until(lambda: 'penstock_enrichment_joins_total{status="deleted",table="profiles"}' in stack.metrics())


class WallOnly:
    """A device without a steady clock, so that events may carry times of their own."""

    def wall_us(self) -> int:
        return time.time_ns() // 1000

    def steady_us(self) -> int | None:
        return None


def expected_name(t_us: int, changed_us: int, deleted_us: int) -> str:
    """By the corrected time, which may differ from the device's by a few milliseconds."""
    if t_us < changed_us:
        return "Ann"
    return "Anna" if t_us < deleted_us else ""


def test_a_restart_is_warm_and_has_the_same_content(stack: Stack) -> None:
    for number in range(50):
        stack.sql(f"INSERT INTO profiles VALUES ('u{number}', 'n{number}', 'b')")
    until(lambda: stack.lookup("u49").status == ENRICHMENT_STATUS_MATCHED)
    upserts = 'penstock_enrichment_intake_records_total{outcome="upsert",table="profiles"} 51.0'
    until(lambda: upserts in stack.metrics())
    until(lambda: 'penstock_enrichment_table_rows{table="profiles"} 51.0' in stack.metrics())

    def describe() -> tuple[int, bytes]:
        with grpc.insecure_channel(stack.enrichment.address) as channel:
            (table,) = EnrichmentServiceStub(channel).Describe(DescribeRequest(), timeout=10).tables
        return table.rows, table.content_hash

    before = describe()
    assert stack.supervisor.end("enrichment") == 0
    stack.supervisor.restart("enrichment")
    assert describe() == before
    (snapshot,) = (stack.supervisor.state.parent / "tables").glob("*.snapshot")
    assert stack.supervisor.end("enrichment") == 0
    snapshot.write_bytes(snapshot.read_bytes()[:-1])
    stack.supervisor.restart("enrichment")
    assert describe() == before
    assert "the snapshot of table profiles is ignored" in stack.supervisor.log("enrichment").read_text()
