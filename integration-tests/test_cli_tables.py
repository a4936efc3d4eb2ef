"""`penstock tables`, `lookup` and `dead-letters` against running services, as an operator uses them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from penstock.client import Plaintext, Publisher
from penstock.client.cli.app import app
from penstock.embedded.broker import Kafka
from penstock.embedded.services import Service, start_enrichment, start_ingestion
from penstock.embedded.supervisor import Supervisor
from penstock.events.v1.event_pb2 import CLOCK_METHOD_ECHO, CLOCK_METHOD_RECEIVED, Event
from penstock.topics import load
from penstock.topics.content import content
from typer.testing import CliRunner, Result

PIPELINE = """
version: 1
tables:
  profiles:
    source: {{debezium: {{topic: {topic}}}}}
    key: user_id
    {columns}
  notes:
    source: events
    key: [user, title]
event_types:
  note.made: {{about: A note., required: [user, title], optional: [text], upserts: {{table: notes}}}}
  page.viewed: {{about: A page., required: [user]}}
"""
PAGE_LEFT = "  page.left: {about: A page., required: [user]}\n"
PAGE_PRINTED = "  page.printed: {about: A page., required: [user]}\n"
PATIENCE_S = 90.0
SECOND_US = 1_000_000


@dataclass(frozen=True)
class Stack:
    kafka: Kafka
    prefix: str
    folder: Path
    supervisor: Supervisor
    ingestion: Service
    enrichment: Service

    @property
    def cdc(self) -> str:
        return f"{self.prefix}cdc"

    @property
    def pipeline(self) -> Path:
        return self.folder / "enrichment.yaml"

    def run(self, *arguments: str) -> Result:
        environment = {
            "PENSTOCK_BOOTSTRAP": self.kafka.bootstrap,
            "PENSTOCK_TOPIC_PREFIX": self.prefix,
            "PENSTOCK_SERVER": self.ingestion.address,
            "PENSTOCK_TABLES_SERVER": self.enrichment.address,
            "PENSTOCK_DEVICE": "d",
        }
        return CliRunner().invoke(app, [*arguments], env=environment)

    def letters(self, *arguments: str) -> list[dict[str, str]]:
        result = self.run("dead-letters", "list", "--json", *arguments)
        assert result.exit_code == 0, result.output
        return [json.loads(line) for line in result.stdout.splitlines()]

    def events(self) -> list[Event]:
        name = load().prefixed(self.prefix).kafka_name("events.enriched.v1")
        records = content({"bootstrap.servers": self.kafka.bootstrap}, name)
        return [Event.FromString(record.value() or b"") for record in records]

    def types(self) -> list[str]:
        return sorted(event.type for event in self.events())

    def change(self, user: str, lsn: int, **after: object) -> None:
        """As Debezium would write it."""
        source = {"connector": "postgresql", "ts_us": lsn * SECOND_US, "lsn": lsn, "snapshot": "false"}
        value = {"before": None, "after": {"user_id": user, **after}, "source": source, "op": "u"}
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap})
        producer.produce(self.cdc, json.dumps(value), json.dumps({"user_id": user}), headers=[("h", b"1")])
        assert producer.flush(PATIENCE_S) == 0

    def until(self, met: Callable[[], bool]) -> None:
        """Asks again until it is so; a service that has died is told at once."""
        deadline = time.monotonic() + PATIENCE_S
        while not met():
            self.supervisor.check()
            log = self.supervisor.log("enrichment").read_text()
            assert time.monotonic() < deadline, f"it did not become so; enrichment says:\n{log[-3000:]}"
            time.sleep(0.1)

    def mend(self, text: str) -> None:
        """Another pipeline for enrichment, which reads it when it starts."""
        self.pipeline.write_text(text)
        self.supervisor.kill("enrichment")
        self.supervisor.restart("enrichment")


def pipeline_text(cdc: str, columns: str = "", more: str = "") -> str:
    return PIPELINE.format(topic=cdc, columns=columns) + more


@pytest.fixture
def stack(kafka: Kafka, topic_prefix: str, tmp_path: Path) -> Iterator[Stack]:
    """Ingestion takes page.left; enrichment has a pipeline of its own, which does not have it."""
    cdc = f"{topic_prefix}cdc"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(cdc, 1, 1)])[cdc].result(PATIENCE_S)
    (tmp_path / "ingestion.yaml").write_text(pipeline_text(cdc, more=PAGE_LEFT))
    (tmp_path / "enrichment.yaml").write_text(pipeline_text(cdc))
    environment = {"PENSTOCK_TOPIC_PREFIX": topic_prefix}
    with Supervisor(tmp_path / "stack") as supervisor:
        ingestion = start_ingestion(
            supervisor,
            kafka.bootstrap,
            environment=environment | {"PENSTOCK_PIPELINE": str(tmp_path / "ingestion.yaml")},
        )
        enrichment = start_enrichment(
            supervisor,
            kafka.bootstrap,
            environment=environment
            | {"PENSTOCK_PIPELINE": str(tmp_path / "enrichment.yaml"), "PENSTOCK_ENRICHMENT_DRAIN_GRACE_S": "3"},
        )
        yield Stack(kafka, topic_prefix, tmp_path, supervisor, ingestion, enrichment)


def test_rows_as_of_a_time_and_after_a_write(stack: Stack) -> None:
    stack.change("ann", 1000, name="Ann")
    stack.change("ann", 2000, name="Anna")
    stack.until(lambda: "Anna" in stack.run("lookup", "profiles", "ann").stdout)
    before = stack.run("lookup", "profiles", "ann", "--as-of", str(1500 * SECOND_US), "--json")
    assert json.loads(before.stdout)["columns"] == {"name": "Ann", "user_id": "ann"}
    earlier = stack.run("lookup", "profiles", "ann", "--as-of", "1970-01-01T00:00:01Z")
    assert (earlier.exit_code, earlier.stdout) == (
        1,
        "profiles ann as of 1970-01-01 00:00:01.000000Z: missing, the table had no such row then\n",
    )

    published = stack.run("publish", "note.made", "user=ann", "title=a/b", "text=hi")
    place = published.stdout.splitlines()[0].rpartition(" in ")[2]
    assert place.startswith("events.raw.v1["), published.output
    for key in (["ann", "a/b"], ["ann/a%2Fb"]):
        found = stack.run("lookup", "notes", *key, "--token", place, "--timeout", "60", "--json")
        assert found.exit_code == 0, found.output
        assert json.loads(found.stdout)["columns"]["text"] == "hi"
    assert stack.run("lookup", "notes", "ann", "a", "b").exit_code == 1
    never = stack.run("lookup", "notes", "ann", "a/b", "--token", "tables.notes.v1:0:99999", "--timeout", "0.5")
    assert never.exit_code == 2
    assert "do not reflect the token" in never.stderr

    described = [json.loads(line) for line in stack.run("tables", "--json").stdout.splitlines()]
    assert [(table["table"], table["rows"], table["versions"]) for table in described] == [
        ("notes", 1, 1),
        ("profiles", 1, 2),
    ]
    assert all(len(table["content_hash"]) == 64 for table in described)
    assert len(described[1]["applied"]) == 1


def test_events_that_enrichment_refused_are_taken_once_after_the_fix(stack: Stack) -> None:
    with Publisher(stack.ingestion.address, "d", security=Plaintext()) as publisher:
        for event_type in ("page.viewed", "page.left", "page.viewed"):
            publisher.publish(event_type, {"user": "ann"})
        publisher.flush(PATIENCE_S)
        stack.until(lambda: len(stack.letters()) == 1)
        (letter,) = stack.letters()
        assert (letter["refused_by"], letter["what"]) == ("enrichment", "page.left #2")
        shown = stack.run("dead-letters", "show", letter["place"])
        assert "user=ann" in shown.stdout

        # Too early: it is refused once more.
        assert stack.run("dead-letters", "resubmit", letter["place"]).exit_code == 0
        stack.until(lambda: len(stack.letters()) == 2)

        stack.mend(pipeline_text(stack.cdc, more=PAGE_LEFT))
        for _ in range(2):
            result = stack.run("dead-letters", "resubmit", letter["place"])
            assert (result.exit_code, result.stdout.partition(" as ")[0]) == (
                0,
                f"{letter['place']}: 1 event re-submitted",
            )
        publisher.publish("page.viewed", {"user": "last"})  # behind what was re-submitted, as it is the same device's
        publisher.flush(PATIENCE_S)
    stack.until(lambda: any(event.attributes["user"] == "last" for event in stack.events()))
    assert stack.types() == ["page.left", "page.viewed", "page.viewed", "page.viewed"]
    (left,) = [event for event in stack.events() if event.type == "page.left"]
    assert (left.seq, left.clock.method) == (2, CLOCK_METHOD_ECHO), "its time is as good as it was"


def test_events_that_ingestion_refused_are_taken_after_the_fix(stack: Stack) -> None:
    assert stack.run("publish", "page.printed", "user=ann").exit_code == 1
    assert stack.run("publish", "page.viewed").exit_code == 1
    # Newest first.
    assert [(letter["reason"], letter["refused_by"]) for letter in stack.letters()] == [
        ("MISSING_ATTRIBUTE", "ingestion"),
        ("UNKNOWN_TYPE", "ingestion"),
    ]
    (unknown,) = stack.letters("--reason", "unknown-type")
    again = ("dead-letters", "resubmit", "--reason", "UNKNOWN_TYPE", "--pipeline", str(stack.pipeline))
    asked = stack.run(*again)
    assert (asked.exit_code, asked.stderr) == (1, "penstock: 1 dead letter would be re-submitted; add --yes to do it\n")
    early = stack.run(*again, "--yes")
    assert early.exit_code == 1
    assert "event 0: type 'page.printed' is not declared in pipeline.yaml" in early.stderr

    stack.mend(pipeline_text(stack.cdc, more=PAGE_PRINTED))
    late = stack.run(*again, "--yes")
    assert late.exit_code == 0, late.output
    assert late.stdout.startswith(f"{unknown['place']}: 1 event re-submitted as events.raw.v1:")
    stack.until(lambda: stack.types() == ["page.printed"])
    (printed,) = stack.events()
    assert (printed.clock.method, printed.clock.corrected_us) == (CLOCK_METHOD_RECEIVED, printed.clock.received_us)
    assert stack.run("dead-letters", "resubmit", stack.letters()[0]["place"]).exit_code == 1


def test_changes_of_a_database_are_taken_after_the_fix_unless_a_newer_one_was(stack: Stack) -> None:
    bad = {"value": "not base64", "scale": 2}
    stack.change("ann", 1000, name="Ann", price=bad)
    stack.change("bob", 1000, name="Bob", price=bad)
    stack.change("bob", 2000, name="Bobby")
    stack.until(lambda: stack.run("lookup", "profiles", "bob").exit_code == 0)
    letters = stack.letters()
    assert [(letter["table"], letter["reason"], letter["source"]) for letter in letters] == [
        ("profiles", "UNREADABLE_VALUE", f"{stack.cdc}:0:1"),
        ("profiles", "UNREADABLE_VALUE", f"{stack.cdc}:0:0"),
    ]
    shown = stack.run("dead-letters", "show", letters[1]["place"])
    assert '"name": "Ann"' in shown.stdout
    assert stack.run("lookup", "profiles", "ann").exit_code == 1

    stack.mend(pipeline_text(stack.cdc, columns="columns: [name]"))
    result = stack.run("dead-letters", "resubmit", "--reason", "UNREADABLE_VALUE", "--yes")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("1 change re-submitted as") == 2
    copies = list(content({"bootstrap.servers": stack.kafka.bootstrap}, stack.cdc))
    assert [(copy.key(), copy.value(), copy.headers()) for copy in copies[3:]] == [
        (copy.key(), copy.value(), copy.headers()) for copy in copies[:2]
    ]
    stack.change("end", 3000, name="End")
    stack.until(lambda: stack.run("lookup", "profiles", "end").exit_code == 0)
    assert "Ann" in stack.run("lookup", "profiles", "ann").stdout
    assert "Bobby" in stack.run("lookup", "profiles", "bob").stdout
