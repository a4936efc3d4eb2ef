"""`dead-letters` against a real Kafka, without the services: what is read, and what is written back."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

import pytest
from confluent_kafka import Producer
from penstock.client.cli.app import app
from penstock.client.cli.records import Records
from penstock.client.place import Place
from penstock.embedded.broker import Kafka
from penstock.events.v1.event_pb2 import CLOCK_METHOD_ECHO, Event, Position
from penstock.events.v1.raw_batch_pb2 import (
    REFUSAL_REASON_DATA_SIZE,
    REFUSAL_REASON_MALFORMED,
    RawBatch,
    RejectedBatch,
    Rejection,
    Stamp,
)
from penstock.tables.v1.rejected_change_pb2 import CHANGE_REFUSAL_NO_VERSION, RejectedChange
from penstock.topics import load
from penstock.topics.content import content
from penstock.topics.errors import KafkaUnreachableError
from penstock.topics.kafka import ensure
from typer.testing import CliRunner, Result

RAW, EVENTS, CHANGES = "events.raw.v1", "events.rejected.v1", "changes.rejected.v1"
SECOND_MS = 1_000


@dataclass(frozen=True)
class Desk:
    kafka: Kafka
    prefix: str
    start_ms: int
    """Recent: Kafka deletes what is older than a topic's retention."""

    def write(self, topic: str, value: bytes, *, partition: int, after_ms: int = 0) -> None:
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap})
        time_ms = self.start_ms + after_ms
        producer.produce(f"{self.prefix}{topic}", value, key="k", partition=partition, timestamp=time_ms)
        assert producer.flush(60) == 0

    def refuse_event(self, seq: int, after_ms: int = 0, *, partition: int = 0) -> None:
        rejection = Rejection(
            reason=REFUSAL_REASON_DATA_SIZE, detail="large", event=Event(type="t", seq=seq).SerializeToString()
        )
        batch = RejectedBatch(device_id="phone", refused_by="ingestion", rejections=[rejection])
        self.write(EVENTS, batch.SerializeToString(), partition=partition, after_ms=after_ms)

    def run(self, *arguments: str) -> Result:
        environment = {"PENSTOCK_BOOTSTRAP": self.kafka.bootstrap, "PENSTOCK_TOPIC_PREFIX": self.prefix}
        return CliRunner().invoke(app, ["dead-letters", *arguments], env=environment)

    def letters(self, *arguments: str) -> list[dict[str, str]]:
        result = self.run("list", "--json", *arguments)
        assert result.exit_code == 0, result.output
        return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def desk(kafka: Kafka, topic_prefix: str) -> Desk:
    topics = load().prefixed(topic_prefix)
    ensure({"bootstrap.servers": kafka.bootstrap}, topics, names=[RAW, EVENTS, CHANGES])
    return Desk(kafka, topic_prefix, time.time_ns() // 1_000_000 - 100 * SECOND_MS)


def test_both_topics_newest_first(desk: Desk) -> None:
    for number in range(6):
        desk.refuse_event(number + 1, number * SECOND_MS, partition=number % 2)
    change = RejectedChange(
        table="profiles", reason=CHANGE_REFUSAL_NO_VERSION, rejected_us=(desk.start_ms + 2500) * 1000
    )
    desk.write(CHANGES, change.SerializeToString(), partition=1, after_ms=2500)
    desk.write(EVENTS, b"\xff", partition=1, after_ms=9 * SECOND_MS)
    assert [letter["what"] for letter in desk.letters()] == [
        "",
        "t #6",
        "t #5",
        "t #4",
        "(no key)",
        "t #3",
        "t #2",
        "t #1",
    ]
    assert desk.letters()[0]["reason"] == "UNREADABLE"
    assert [letter["what"] for letter in desk.letters("--reason", "data-size", "--max", "2")] == ["t #6", "t #5"]
    since = desk.letters("--since", str((desk.start_ms + 4 * SECOND_MS) * 1000))
    assert [letter["place"] for letter in since] == [f"{EVENTS}:1:3", f"{EVENTS}:1:2", f"{EVENTS}:0:2"]
    assert "these are the newest 3; --max shows more" in desk.run("list", "--max", "3").stderr


def test_more_than_one_span_is_read_backwards(desk: Desk) -> None:
    """Records that a transaction aborted, and its markers, are not there."""
    topic = f"{desk.prefix}{CHANGES}"
    producer = Producer({"bootstrap.servers": desk.kafka.bootstrap, "transactional.id": desk.prefix})
    producer.init_transactions(60)
    for number in range(60):
        producer.begin_transaction()
        for half in (0, 1):
            change = RejectedChange(table="t", reason=CHANGE_REFUSAL_NO_VERSION, detail=f"{2 * number + half}")
            producer.produce(topic, change.SerializeToString(), key="t", partition=0, timestamp=desk.start_ms + number)
        producer.flush(60)
        end = producer.abort_transaction if number % 10 == 5 else producer.commit_transaction
        end(60)
    expected = [str(number) for number in range(120) if number // 2 % 10 != 5]
    assert [letter["detail"] for letter in desk.letters("--max", "1000")] == expected[::-1]


def test_there_may_be_none(desk: Desk) -> None:
    result = desk.run("list", "--json")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "no dead letters\n")


def test_topics_that_kafka_does_not_have_hold_no_letters(kafka: Kafka, topic_prefix: str) -> None:
    assert Desk(kafka, topic_prefix, 0).letters() == []


@pytest.mark.parametrize("prefixed", [False, True])
def test_one_by_its_place(desk: Desk, prefixed: bool) -> None:
    desk.refuse_event(7)
    result = desk.run("show", f"{desk.prefix if prefixed else ''}{EVENTS}:0:0")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("events.rejected.v1:0:0\n  reason      DATA_SIZE: large\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", f"{EVENTS}:0:0"], "there is no dead letter at events.rejected.v1:0:0"),
        (["show", f"{EVENTS}:7:0"], "there is no dead letter at events.rejected.v1:7:0"),
        (["show", f"{RAW}:0:0"], "has no dead letters; they are in events.rejected.v1 and changes.rejected.v1"),
        (["show", "12"], "'12' is no place; write TOPIC:PARTITION:OFFSET"),
        (["list", "--reason", "too-lrge"], "no dead letter has the reason 'too-lrge'; did you mean TOO_LARGE"),
        (["list", "--since", "soon"], "'soon' is no time"),
        (["resubmit"], "give the PLACEs of dead letters, or --reason"),
        (["resubmit", f"{EVENTS}:0:0", "--reason", "NO_KEY"], "give the PLACEs of dead letters, or --reason"),
        (["resubmit", "--reason", "NO_KEY"], "0 dead letters would be re-submitted; add --yes"),
    ],
)
def test_faults_are_one_sentence(desk: Desk, arguments: list[str], message: str) -> None:
    result = desk.run(*arguments)
    assert result.exit_code == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_batch_is_written_to_its_own_partition_with_the_refused_event_alone(desk: Desk) -> None:
    events = [Event(type="page.viewed", seq=seq) for seq in (1, 2, 3)]
    raw = RawBatch(device_id="phone", events=events, stamp=Stamp(received_us=9, method=CLOCK_METHOD_ECHO))
    desk.write(RAW, raw.SerializeToString(), partition=5)
    rejection = Rejection(
        index=1,
        reason=REFUSAL_REASON_MALFORMED,
        event=events[1].SerializeToString(),
        source=Position(topic=RAW, partition=5, offset=0),
    )
    refused = RejectedBatch(device_id="phone", refused_by="enrichment", rejections=[rejection])
    for after_ms in (0, 1):  # it was tried again before, and refused again
        desk.write(EVENTS, refused.SerializeToString(), partition=0, after_ms=after_ms)
    result = desk.run("resubmit", "--reason", "MALFORMED", "--yes")
    assert (result.exit_code, result.stdout) == (0, f"{EVENTS}:0:1: 1 event re-submitted as {RAW}:5:1\n")
    assert "1 record was written again" in result.stderr
    *_, copy = content({"bootstrap.servers": desk.kafka.bootstrap}, f"{desk.prefix}{RAW}")
    assert (copy.key(), copy.partition()) == (b"k", 5)
    assert list(RawBatch.FromString(copy.value() or b"").stamp.refused) == [0, 2]


def test_what_cannot_be_tried_again_is_told_and_does_not_stop_the_rest(desk: Desk) -> None:
    desk.refuse_event(1)
    lost = RejectedChange(table="t", source=Position(topic=f"{desk.prefix}cdc", partition=0, offset=0), value=b"{}")
    desk.write(CHANGES, lost.SerializeToString(), partition=0)
    whole = RejectedChange(table="t", source=Position(topic=f"{desk.prefix}{RAW}", partition=2, offset=7), value=b"{}")
    desk.write(CHANGES, whole.SerializeToString(), partition=0)
    result = desk.run("resubmit", f"{EVENTS}:0:0", f"{CHANGES}:0:0", f"{CHANGES}:0:1")
    assert (result.exit_code, result.stdout) == (1, f"{CHANGES}:0:1: 1 change re-submitted as {RAW}:2:0\n")
    assert f"{EVENTS}:0:0: left out: event 0: DATA_SIZE is for the device to mend and send again" in result.stderr
    assert f"{CHANGES}:0:0: left out: Kafka has no topic {desk.prefix}cdc, which it came from" in result.stderr


def test_a_record_that_is_not_there_is_none(desk: Desk) -> None:
    desk.refuse_event(1)
    topic = f"{desk.prefix}{EVENTS}"
    with Records(desk.kafka.bootstrap) as records:
        assert (records.has(topic), records.has(f"{topic}-other")) == (True, False)
        found = records.at(Place(topic, 0, 0))
        assert found is not None
        assert (found.place, found.time_ms, found.key) == (Place(topic, 0, 0), desk.start_ms, b"k")
        assert [records.at(Place(topic, *place)) for place in ((0, 1), (1, 0), (9, 0))] == [None] * 3


def test_kafka_that_is_not_there_is_one_sentence() -> None:
    records = Records("127.0.0.1:1", timeout_s=0.5)
    with records, pytest.raises(KafkaUnreachableError, match=r"Kafka at 127\.0\.0\.1:1 did not answer within 0\.5 s"):
        records.has("t")
