"""Refill requests on a real Kafka."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from penstock.delivery.numbers import user_number
from penstock.embedded.broker import Kafka
from penstock.timeline.v1.delivery_pb2 import Refilled, RefillRequest
from penstock.timelines import refilling as module
from penstock.timelines.held import Holdings
from penstock.timelines.metrics import Metrics
from penstock.timelines.refilling import BEHIND, Refilling
from penstock.topics import load
from penstock.topics.content import content
from penstock.topics.kafka import ensure
from penstock.topics.partitioning import murmur2_partition
from prometheus_client import CollectorRegistry

World = Any  # of conftest.py
REFILLS = "timeline.refills.v1"


class Desk:
    def __init__(self, world: World, bootstrap: str, topic: str, **more: Any) -> None:
        self.registry = CollectorRegistry()
        self.kafka = {"bootstrap.servers": bootstrap}
        self.topic = topic
        self.holdings = Holdings(list(world.held.values()))
        given = {"outstanding_max": 10, "retry_s": 30, "record_bytes_max": 1 << 20} | more
        self.refilling = Refilling(self.kafka, topic, Metrics(self.registry), **given)
        self.now = 1.0

    def look(self) -> None:
        self.now += 1
        self.refilling.look(self.holdings, self.now)

    def asked(self) -> list[tuple[int | None, RefillRequest]]:
        assert self.refilling._producer.flush(60) == 0
        found = content(self.kafka, self.topic)
        return [(message.partition(), RefillRequest.FromString(message.value() or b"")) for message in found]

    def count(self, outcome: str) -> float:
        return self.registry.get_sample_value("penstock_timeline_refills_total", {"outcome": outcome}) or 0


def with_a_gap(make_world: Any) -> World:
    """A reader whose inbox was trimmed, and then lost posts."""
    world = make_world(capacity=4, slack=2)
    world.apply(world.join.follow("reader", "ann"))
    for number in range(8):
        world.apply(world.join.post("ann", f"p{number}", 1 + number))
    for number in range(7, 3, -1):
        world.apply(world.join.delete("ann", f"p{number}"))
    assert world.held_of("reader").partition.refilling == 1
    return world


def test_a_gap_is_asked_for_at_the_shard_of_its_authors(make_world: Any, kafka: Kafka, topic_prefix: str) -> None:
    world, topics = with_a_gap(make_world), load().prefixed(topic_prefix)
    ensure({"bootstrap.servers": kafka.bootstrap}, topics, names=[REFILLS])
    desk = Desk(world, kafka.bootstrap, topics.kafka_name(REFILLS))
    held = world.held_of("reader")
    held.end = held.position + BEHIND + 1
    desk.look()
    assert desk.asked() == [], "far behind: the answer may be on its way"
    held.end = held.position
    for _ in range(3):
        desk.look()
    ((shard, request),) = desk.asked()
    assert (request.reader, list(request.authors)) == (user_number("reader"), ["ann"])
    assert shard == murmur2_partition(b"ann", world.shape.shards)
    assert request.timeline_partition == world.partition_of("reader")
    desk.now += 60
    desk.look()
    assert [one for _, one in desk.asked()] == [request, request]
    assert (desk.count("asked"), desk.count("again")) == (1, 1)
    answer = Refilled(reader=request.reader, request=request.request)
    world.apply(world.join.backfill("ann", "reader", answer))
    desk.look()
    assert (desk.count("answered"), held.partition.refilling) == (1, 0)
    assert desk.registry.get_sample_value("penstock_timeline_refills_outstanding") == 0


def test_a_producer_that_is_broken_for_good_ends_the_process(make_world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def __init__(self, config: Any, logger: Any) -> None:
            self.told: list[Any] = []

        def produce(self, *given: Any, on_delivery: Any) -> None:
            self.told.append(on_delivery)

        def poll(self, wait_s: float) -> None:
            while self.told:
                self.told.pop()(KafkaError(KafkaError._FATAL, "fenced", fatal=True), None)

    monkeypatch.setattr(module, "Producer", Broken)
    desk = Desk(with_a_gap(make_world), "nowhere:1", "t")
    desk.look()
    with pytest.raises(KafkaException, match="fenced"):
        desk.look()
