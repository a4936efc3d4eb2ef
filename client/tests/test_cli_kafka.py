"""`tail` and `topics` against a real Kafka."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer
from penstock.client.cli.app import app
from penstock.embedded.broker import Kafka
from penstock.events.v1.event_pb2 import CLOCK_METHOD_RECEIVED, Event
from penstock.events.v1.raw_batch_pb2 import RawBatch, Stamp
from penstock.pipeline import example
from penstock.topics import load
from penstock.topics.kafka import ensure
from typer.testing import CliRunner, Result

RAW = "events.raw.v1"


@pytest.fixture
def raw_topic(kafka: Kafka, topic_prefix: str) -> str:
    """The name in Kafka of a topic that holds two batches of two events, and one that was aborted."""
    topics = load().prefixed(topic_prefix)
    ensure({"bootstrap.servers": kafka.bootstrap}, topics, names=[RAW])
    name = topics.kafka_name(RAW)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic_prefix})
    producer.init_transactions()
    for device, commit in (("first", True), ("aborted", False), ("second", True)):
        events = [Event(type="page.viewed", seq=seq) for seq in (1, 2)]
        stamp = Stamp(received_us=1_767_268_800_000_000, method=CLOCK_METHOD_RECEIVED)
        batch = RawBatch(device_id=device, events=events, stamp=stamp)
        producer.begin_transaction()
        producer.produce(name, batch.SerializeToString(), key=device, partition=0)
        producer.flush()
        end = producer.commit_transaction if commit else producer.abort_transaction
        end()
    return name


def run(kafka: Kafka, prefix: str, *arguments: str) -> Result:
    environment = {"PENSTOCK_BOOTSTRAP": kafka.bootstrap, "PENSTOCK_TOPIC_PREFIX": prefix}
    return CliRunner().invoke(app, [*arguments], env=environment)


def test_tail_shows_committed_events(kafka: Kafka, topic_prefix: str, raw_topic: str) -> None:
    result = run(kafka, topic_prefix, "tail", RAW, "--from-beginning", "--max", "4")
    assert result.exit_code == 0, result.output
    assert [line.split()[5:7] for line in result.stdout.splitlines()] == [
        ["first", "#1"],
        ["first", "#2"],
        ["second", "#1"],
        ["second", "#2"],
    ]
    assert result.stdout.startswith("2026-01-01 12:00:00.000000Z ± ? RECEIVED first #1 page.viewed")


def test_tail_as_json_stops_in_the_middle_of_a_batch(kafka: Kafka, topic_prefix: str, raw_topic: str) -> None:
    result = run(kafka, topic_prefix, "tail", raw_topic, "--from-beginning", "--max", "3", "--json")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(row["device_id"], row["seq"], row["topic"]) for row in rows] == [
        ("first", 1, raw_topic),
        ("first", 2, raw_topic),
        ("second", 1, raw_topic),
    ]
    times = {"received_us": 1_767_268_800_000_000, "method": "RECEIVED", "offset_us": None, "occurred_us": None}
    assert rows[0].items() >= times.items()
    assert rows[0]["offset"] == 0, "the record's place in Kafka, not the clock's"


def test_reader_that_has_seen_enough(kafka: Kafka, topic_prefix: str, raw_topic: str) -> None:
    command = [sys.executable, "-m", "penstock.client", "tail", RAW, "--from-beginning", "--json", "--max", "4"]
    environment = {"PENSTOCK_BOOTSTRAP": kafka.bootstrap, "PENSTOCK_TOPIC_PREFIX": topic_prefix}
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, env=os.environ | environment, check=False, timeout=60
    )
    os.close(writer)
    assert (result.returncode, result.stderr) == (0, b"")


def test_topic_that_kafka_does_not_have(kafka: Kafka, topic_prefix: str, raw_topic: str) -> None:
    result = run(kafka, topic_prefix, "tail", "events.rejected.v1")
    assert result.exit_code == 1
    assert "is on the map, but Kafka at" in result.stderr


def test_topics_marks_what_is_missing(kafka: Kafka, topic_prefix: str, raw_topic: str) -> None:
    result = run(kafka, topic_prefix, "topics")
    assert result.exit_code == 0, result.output
    rows = {line.split("\t")[0]: line.split("\t")[1:3] for line in result.stdout.splitlines()}
    partitions, records = rows[raw_topic]
    assert partitions == "8"
    assert int(records) >= 3
    assert rows[f"{topic_prefix}events.rejected.v1"] == ["missing", "-"]


def test_topics_are_those_of_the_pipelines_tables(kafka: Kafka, topic_prefix: str, tmp_path: Path) -> None:
    social = run(kafka, topic_prefix, "topics")
    assert f"{topic_prefix}tables.posts.v1\tmissing" in social.stdout
    shop = tmp_path / "shop.yaml"
    shop.write_text(example("shop"))
    names = [
        line.split("\t")[0] for line in run(kafka, topic_prefix, "topics", "--pipeline", str(shop)).stdout.splitlines()
    ]
    assert f"{topic_prefix}tables.tax_rates.v1" in names
    assert f"{topic_prefix}tables.posts.v1" not in names


def test_a_pipeline_that_is_not_sound_is_said_to_be_so(kafka: Kafka, topic_prefix: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("version: 2\n")
    result = run(kafka, topic_prefix, "topics", "--pipeline", str(path))
    assert result.exit_code == 1
    assert "mine.yaml:1:10: version: is the number 2; should be 1" in result.stderr
