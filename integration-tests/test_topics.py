"""The map of topics on a real Kafka: created once, verified ever after, never repaired."""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but missing from its __all__
    AdminClient,
    ConfigResource,
    ResourceType,
)
from penstock.embedded.broker import Kafka
from penstock.pipeline import load as load_pipeline
from penstock.topics import TopicMap, load, murmur2_partition
from penstock.topics.content import content
from penstock.topics.errors import TopicsDifferError, TopicsMissingError, TopicsRefusedError
from penstock.topics.kafka import Ensured, describe, ensure, verify

RAW, POSTS, PROFILES = "events.raw.v1", "tables.posts.v1", "tables.profiles.v1"


@pytest.fixture
def client(kafka: Kafka) -> dict[str, str]:
    return {"bootstrap.servers": kafka.bootstrap}


@pytest.fixture
def topic_map(topic_prefix: str) -> TopicMap:
    return load().for_tables(load_pipeline().tables).prefixed(topic_prefix)


@pytest.fixture
def admin(client: dict[str, str]) -> AdminClient:
    """Looks at Kafka past the library under test."""
    return AdminClient({**client})


def settings_in_kafka(admin: AdminClient, topic: str) -> dict[str, str]:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    entries = admin.describe_configs([resource])[resource].result(timeout=10)
    return {name: entry.value for name, entry in entries.items()}


def changed(topic_map: TopicMap, changes: Mapping[str, Mapping[str, object]]) -> TopicMap:
    topics = {name: topic.model_copy(update=changes.get(name, {})) for name, topic in topic_map.topics.items()}
    return replace(topic_map, topics=topics)


def produce(client: Mapping[str, str], topic: str, values: list[bytes], partition: int) -> None:
    producer = Producer({**client, "acks": "all", "message.max.bytes": 8_000_000})
    failures = []
    for value in values:
        producer.produce(
            topic, value, partition=partition, on_delivery=lambda error, _: failures.append(error) if error else None
        )
    assert producer.flush(30) == 0
    assert failures == []


def partitions_chosen(client: Mapping[str, str], topic: str, keys: list[bytes]) -> dict[bytes, int | None]:
    """What librdkafka makes of keys."""
    producer = Producer({**client, "acks": "all", "partitioner": "murmur2_random"})
    chosen: dict[bytes, int | None] = {}
    for key in keys:
        producer.produce(
            topic,
            b"",
            key=key,
            on_delivery=lambda _, message: chosen.update({message.key() or b"": message.partition()}),
        )
    assert producer.flush(30) == 0
    return chosen


def test_topics_are_created_once_and_verified_ever_after(client: dict[str, str], topic_map: TopicMap) -> None:
    names = tuple(topic_map.kafka_name(name) for name in topic_map.topics)
    assert ensure(client, topic_map) == Ensured(created=names, verified=())
    assert ensure(client, topic_map) == Ensured(created=(), verified=names)


def test_topics_have_the_settings_of_the_map(client: dict[str, str], admin: AdminClient, topic_map: TopicMap) -> None:
    ensure(client, topic_map, names=[RAW, POSTS, PROFILES])
    raw = settings_in_kafka(admin, topic_map.kafka_name(RAW))
    assert (raw["cleanup.policy"], raw["retention.ms"], raw["max.message.bytes"]) == (
        "delete",
        str(7 * 24 * 3600 * 1000),
        str(4 * 1024 * 1024 + 64 * 1024),
    )
    posts = settings_in_kafka(admin, topic_map.kafka_name(POSTS))
    assert (posts["cleanup.policy"], posts["retention.ms"], posts["retention.bytes"]) == ("delete", "-1", "-1")
    profiles = settings_in_kafka(admin, topic_map.kafka_name(PROFILES))
    assert (profiles["cleanup.policy"], profiles["min.compaction.lag.ms"]) == ("compact", str(30 * 24 * 3600 * 1000))


def test_only_the_named_topics_are_created(client: dict[str, str], topic_map: TopicMap) -> None:
    assert ensure(client, topic_map, names=[RAW]).created == (topic_map.kafka_name(RAW),)
    assert [live.name for live in describe(client, topic_map) if live.exists] == [RAW]


def test_any_number_may_do_it_at_once(client: dict[str, str], topic_map: TopicMap) -> None:
    starters = 6
    together = Barrier(starters)

    def start(_: int) -> Ensured:
        together.wait(timeout=30)
        return ensure(client, topic_map)

    with ThreadPoolExecutor(starters) as pool:
        reports = list(pool.map(start, range(starters)))
    names = [topic_map.kafka_name(name) for name in topic_map.topics]
    assert sorted(name for report in reports for name in report.created) == sorted(names)
    assert all(sorted(report.created + report.verified) == sorted(names) for report in reports)


def test_every_difference_is_listed_and_nothing_is_changed(
    client: dict[str, str], admin: AdminClient, topic_map: TopicMap
) -> None:
    raw, profiles = topic_map.kafka_name(RAW), topic_map.kafka_name(PROFILES)
    former = changed(
        topic_map,
        {
            RAW: {"partitions": 3, "cleanup": "compact", "retention": "1m", "max_message_bytes": 9999},
            PROFILES: {"cleanup": "delete"},
        },
    )
    ensure(client, former, names=[RAW, PROFILES])
    with pytest.raises(TopicsDifferError) as caught:
        ensure(client, topic_map)
    assert {(fault.topic, fault.setting, fault.expected, fault.found) for fault in caught.value.differences} == {
        (raw, "partitions", "8", "3"),
        (raw, "cleanup.policy", "delete", "compact"),
        (raw, "retention.ms", "604800000", "60000"),
        (raw, "max.message.bytes", "4259840", "9999"),
        (profiles, "cleanup.policy", "compact", "delete"),
    }
    assert f"{raw}: partitions should be 8, is 3" in str(caught.value)
    assert settings_in_kafka(admin, raw)["retention.ms"] == "60000"
    assert {live.name for live in describe(client, topic_map) if live.exists} == {RAW, PROFILES}


def test_more_replicas_than_brokers_are_refused_by_kafka(client: dict[str, str], topic_map: TopicMap) -> None:
    with pytest.raises(TopicsRefusedError, match=r"(?i)Kafka refused to create topics:\n.*replication factor"):
        ensure(client, topic_map, names=[RAW], replication_factor=3)


def test_the_raw_topic_takes_the_largest_request_with_its_stamp(client: dict[str, str], topic_map: TopicMap) -> None:
    ensure(client, topic_map, names=[RAW])
    produce(client, topic_map.kafka_name(RAW), [os.urandom(4 * 1024 * 1024 + 60 * 1024)], partition=0)
    [raw] = describe(client, topic_map, names=[RAW])
    assert raw.records == 1


def test_live_topics_are_described_in_the_order_of_the_map(
    client: dict[str, str], admin: AdminClient, topic_map: TopicMap
) -> None:
    ensure(client, topic_map, names=[RAW])
    name = topic_map.kafka_name(RAW)
    produce(client, name, [b"a", b"b", b"c"], partition=1)
    produce(client, name, [b"d"], partition=2)
    delete_to = TopicPartition(name, 1, 2)
    admin.delete_records([delete_to])[delete_to].result(timeout=10)

    described = describe(client, topic_map)
    assert [live.name for live in described] == list(topic_map.topics)
    raw = described[0]
    assert (raw.kafka_name, raw.records, len(raw.partitions)) == (name, 2, 8)
    assert [(place.first, place.end) for place in raw.partitions[:4]] == [(0, 0), (2, 3), (0, 1), (0, 0)]
    assert not any(live.exists for live in described[1:])


def test_verify_tells_missing_from_different_and_creates_nothing(client: dict[str, str], topic_map: TopicMap) -> None:
    with pytest.raises(TopicsMissingError, match=topic_map.kafka_name(RAW)):
        verify(client, topic_map, names=[RAW])
    assert not describe(client, topic_map, names=[RAW])[0].exists
    ensure(client, topic_map, names=[RAW])
    verify(client, topic_map, names=[RAW])
    with pytest.raises(TopicsDifferError, match="partitions should be 3, is 8"):
        verify(client, changed(topic_map, {RAW: {"partitions": 3}}), names=[RAW])


def test_content_is_all_that_the_topic_held_at_the_start(client: dict[str, str], topic_map: TopicMap) -> None:
    ensure(client, topic_map, names=[RAW])
    name = topic_map.kafka_name(RAW)
    assert list(content(client, name)) == []
    for partition in (0, 3):
        produce(client, name, [b"%d-%d" % (partition, number) for number in range(2_500)], partition)
    values = [message.value() or b"" for message in content(client, name)]
    assert sorted(values) == sorted(b"%d-%d" % (partition, number) for partition in (0, 3) for number in range(2_500))
    assert [value for value in values if value.startswith(b"3-")] == [b"3-%d" % number for number in range(2_500)]


def test_partitions_are_chosen_as_the_client_does(client: dict[str, str], topic_map: TopicMap) -> None:
    ensure(client, topic_map, names=[POSTS])
    name, partitions = topic_map.kafka_name(POSTS), topic_map[POSTS].partitions
    # Of every length, so that every tail of the hash is met, and with bytes beyond ASCII.
    keys = [b"", *(os.urandom(length) for length in range(1, 64) for _ in range(5)), "Zoë/böse%".encode()]
    chosen = partitions_chosen(client, name, keys)
    assert chosen == {key: murmur2_partition(key, partitions) for key in keys}
    assert set(chosen.values()) == set(range(partitions))
