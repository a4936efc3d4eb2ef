"""A table's log on a real Kafka, followed."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from penstock.embedded.broker import Kafka
from penstock.enrichment.follower import Followed, Follower
from penstock.enrichment.tables import History, Status
from penstock.events.v1.event_pb2 import RowVersion
from penstock.tables.v1.row_change_pb2 import OP_UPSERT, RowChange
from penstock.topics import TopicMap, load
from penstock.topics.kafka import ensure

MAP_TOPIC = "tables.posts.v1"


class Log:
    """One table's topic, and followers of it."""

    def __init__(self, kafka: Kafka, prefix: str, folder: Path) -> None:
        self.kafka = {"bootstrap.servers": kafka.bootstrap}
        self.folder = folder
        self.topics: TopicMap = load().prefixed(prefix)
        self.name = self.topics.kafka_name("events.raw.v1")  # any topic that keeps all it is given
        ensure(self.kafka, self.topics, names=["events.raw.v1"])

    def write(self, *values: bytes, partition: int = 0) -> None:
        producer = Producer(self.kafka)
        for value in values:
            producer.produce(self.name, value, b"k", partition)
        assert producer.flush(60) == 0

    def follower(self, *, definition: str = "d") -> Follower:
        followed = Followed("posts", self.name, MAP_TOPIC, History(10, 10**15), definition)
        follower = Follower([followed], kafka=self.kafka, folder=self.folder)
        follower.load(lambda: False)
        return follower


@pytest.fixture
def log(kafka: Kafka, topic_prefix: str, tmp_path: Path) -> Log:
    return Log(kafka, topic_prefix, tmp_path)


def row(key: str, t_us: int) -> bytes:
    version = RowVersion(valid_from_us=t_us, position=b"p")
    return RowChange(
        table="posts", key=key, op=OP_UPSERT, columns={"t": str(t_us)}, version=version
    ).SerializeToString()


def test_it_is_complete_before_load_returns_and_then_follows(log: Log) -> None:
    log.write(*(row(f"r{number}", 1) for number in range(700)))
    log.write(row("elsewhere", 1), partition=1)
    follower = log.follower()
    assert follower.tables["posts"].rows == 701
    assert follower.progress.done >= follower.progress.total == 701
    log.write(row("r0", 5))
    while not (polled := follower.poll(1.0)).changes:
        pass
    assert [(change.table, change.applied.key) for change in polled.changes] == [("posts", "r0")]
    assert follower.reflects(MAP_TOPIC, 0, 700)
    assert not follower.reflects(MAP_TOPIC, 0, 701)
    assert follower.reflects("tables.other.v1", 0, 0) is None
    assert follower.lags() == {"posts": 0}


def test_what_is_no_change_is_counted_and_skipped(log: Log) -> None:
    log.write(b"\xff\xff", row("r", 1))
    follower = log.follower()
    assert follower.counts.unreadable == {"posts": 1}
    assert follower.tables["posts"].newest("r").status is Status.MATCHED


def test_a_snapshot_saves_reading_what_it_holds(log: Log) -> None:
    log.write(row("old", 1))
    before = log.follower()
    before.save(1)
    assert before.counts.snapshots == {"posts": 1}
    log.write(row("new", 2))
    after = log.follower()
    assert after.progress.total == 1
    assert after.tables["posts"].rows == 2
    assert not after.counts.snapshots_refused


def test_a_snapshot_of_a_former_topic_of_the_same_name_is_refused(log: Log) -> None:
    log.write(row("of the former", 1))
    log.follower().save(1)
    admin = AdminClient({**log.kafka})
    (deleted,) = admin.delete_topics([log.name], operation_timeout=60).values()
    deleted.result()
    ensure(log.kafka, log.topics, names=["events.raw.v1"], timeout_s=60)
    log.write(row("new", 1), row("new", 2))
    follower = log.follower()
    assert "topic_id" in follower.counts.snapshots_refused["posts"]
    assert set(follower.tables["posts"].keys()) == {"new"}


def test_a_snapshot_of_another_declaration_is_refused(log: Log) -> None:
    log.write(row("r", 1))
    log.follower().save(1)
    follower = log.follower(definition="with other columns")
    assert "posts" in follower.counts.snapshots_refused
    assert follower.progress.total == 1


def test_waiting_for_a_log_that_stops_is_bounded(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    follower = log.follower()
    monkeypatch.setattr("penstock.enrichment.follower.HOLDS_TIMEOUT_S", 0.2)
    with pytest.raises(Exception, match="stopped coming before their end"):
        follower.wait_until_holds({(log.name, 0): 5})
