"""What somebody who died leaves to others: a transaction that stays open, partitions that are nobody's."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections import Counter
from contextlib import closing
from pathlib import Path

from confluent_kafka import Consumer, ConsumerGroupState, Producer
from confluent_kafka.admin import AdminClient
from enrichment_stack import PATIENCE_S, PATIENT, EnrichmentLog, WallOnly, until
from penstock.client import Plaintext, Publisher, Reading
from penstock.embedded.broker import Kafka
from penstock.embedded.services import start_enrichment, start_ingestion
from penstock.embedded.supervisor import Supervisor
from penstock.events.v1.event_pb2 import ENRICHMENT_STATUS_MATCHED
from penstock.topics import load
from penstock.topics.content import content
from purchases import PIPELINE, identity, newest

WRITTEN = ("events.enriched.v1", "enrichment.seen.v1")
OPEN_MS = 15_000
MINUTE_US = 60_000_000
BOUGHT = ("item.bought", {"item": "i", "user": "u"})


def test_what_an_open_transaction_hides_is_not_forgotten(kafka: Kafka, topic_prefix: str, tmp_path: Path) -> None:
    """Until Kafka gives it up, it hides from readers what others commit after it. Whoever takes over meanwhile must
    wait for that, or would take events twice and leave others uncorrected."""
    pipeline, log = tmp_path / "pipeline.yaml", EnrichmentLog(kafka.bootstrap, topic_prefix)
    pipeline.write_text(PIPELINE.format(topic=f"{topic_prefix}nothing"))
    environment = {"PENSTOCK_TOPIC_PREFIX": topic_prefix, "PENSTOCK_PIPELINE": str(pipeline)}
    with Supervisor(tmp_path / "stack") as supervisor:
        ingestion = start_ingestion(supervisor, kafka.bootstrap, environment=environment)
        enrichment = start_enrichment(supervisor, kafka.bootstrap, environment=environment)
        with Publisher(
            ingestion.address, "phone", security=Plaintext(), clocks=WallOnly(), settings=PATIENT
        ) as publisher:
            publisher.publish(*BOUGHT)
            until(lambda: len(log.events()) == 1)
            dead = open_transaction(kafka, topic_prefix)
            hidden = [publisher.publish(*BOUGHT).result(60).seq for _ in range(5)]
            until(lambda: emitted(enrichment.metrics) == 6)
            supervisor.kill("enrichment")
            resend(kafka, topic_prefix)
            supervisor.restart("enrichment")
            minute_ago = Reading(WallOnly().wall_us() - MINUTE_US)
            publisher.publish("price.set", {"item": "i", "price": "1"}, occurred=minute_ago)
            publisher.publish(*BOUGHT).result(60)
        until(lambda: len(Counter(map(identity, log.events()))) == 8)
        until(lambda: prices_are_known(log), lambda: [(event.seq, event.revision) for event in log.events()])
        revisions = Counter((event.seq, event.revision) for event in log.events())
        assert set(revisions.values()) == {1}, "an event came out twice"
        assert all(revisions[seq, 1] for seq in hidden)
        del dead


def open_transaction(kafka: Kafka, prefix: str) -> Producer:
    """Of an instance that wrote to every partition and then died."""
    topics = load().prefixed(prefix)
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "transactional.id": f"{prefix}dead",
            "transaction.timeout.ms": OPEN_MS,
        }
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    for topic in WRITTEN:
        for partition in range(topics[topic].partitions):
            producer.produce(topics.kafka_name(topic), b"never committed", b"key", partition)
    assert producer.flush(60) == 0
    return producer


def emitted(metrics: str) -> float:
    """How many events the instance has committed, whoever can see them."""
    with urllib.request.urlopen(metrics, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    (line,) = (line for line in lines if line.startswith("penstock_enrichment_events_total"))
    return float(line.split()[1])


def resend(kafka: Kafka, prefix: str) -> None:
    """Every request once more, as devices do whose answer was lost."""
    client, name = {"bootstrap.servers": kafka.bootstrap}, load().prefixed(prefix).kafka_name("events.raw.v1")
    producer = Producer(client)
    for message in content(client, name):
        producer.produce(name, message.value(), message.key(), message.partition() or 0)
    assert producer.flush(60) == 0


def prices_are_known(log: EnrichmentLog) -> bool:
    found = [{one.name: one.status for one in event.enrichments} for event in newest(log.events())]
    return all(one["price"] == ENRICHMENT_STATUS_MATCHED for one in found if one)


def test_partitions_that_a_rebalance_left_to_nobody_are_read(kafka: Kafka, topic_prefix: str, tmp_path: Path) -> None:
    """Somebody died when it was asked to give partitions up, and came back by its name: Kafka gives it what it was to
    keep, and waits for nothing more."""
    environment = {"PENSTOCK_TOPIC_PREFIX": topic_prefix}
    topics, group = load().prefixed(topic_prefix), f"{topic_prefix}penstock-enrichment"
    topic = topics.kafka_name("events.raw.v1")
    everything = set(range(topics["events.raw.v1"].partitions))
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    with Supervisor(tmp_path / "stack") as supervisor:
        start_ingestion(supervisor, kafka.bootstrap, environment=environment)
        neighbour = [sys.executable, "-c", DIES_WHEN_ASKED, kafka.bootstrap, group, topic]
        with subprocess.Popen(neighbour) as process:
            until(lambda: read_by(admin, group) == {"neighbour": everything})
            start_enrichment(supervisor, kafka.bootstrap, environment=environment)
            assert process.wait(PATIENCE_S) == 0
        with closing(Consumer(consumer_config(kafka, group))) as came_back:
            came_back.subscribe([topic])

            def is_shared() -> bool:
                came_back.poll(0.1)
                readers = read_by(admin, group)
                return len(readers) == 2 and set().union(*readers.values()) == everything

            until(is_shared, lambda: read_by(admin, group))


def consumer_config(kafka: Kafka, group: str) -> dict[str, str]:
    """Of a member of enrichment's group that is called `neighbour`."""
    return {
        "bootstrap.servers": kafka.bootstrap,
        "group.id": group,
        "group.instance.id": "neighbour",
        "partition.assignment.strategy": "cooperative-sticky",
    }


DIES_WHEN_ASKED = """
import os, sys
from confluent_kafka import Consumer
bootstrap, group, topic = sys.argv[1:]
consumer = Consumer({
    "bootstrap.servers": bootstrap, "group.id": group, "group.instance.id": "neighbour", "session.timeout.ms": 45_000,
    "partition.assignment.strategy": "cooperative-sticky", "auto.offset.reset": "earliest",
})
consumer.subscribe([topic], on_revoke=lambda consumer, partitions: os._exit(0))
while True:
    consumer.poll(1.0)
"""


def read_by(admin: AdminClient, group: str) -> dict[str, set[int]]:
    """The partitions of each member; nobody, while the group is not at rest."""
    described = admin.describe_consumer_groups([group])[group].result()
    if described.state != ConsumerGroupState.STABLE:
        return {}
    return {
        one.group_instance_id: {place.partition for place in one.assignment.topic_partitions}
        for one in described.members
    }
