from pathlib import Path

import pytest
from penstock.document import InvalidDocumentError
from penstock.topics import load, loads

IN_PROTO = Path(__file__).parents[3] / "proto" / "topics.yaml"


def test_the_shipped_map_is_the_one_in_proto() -> None:
    assert load() == load(IN_PROTO)


def test_the_shipped_map_has_every_topic_of_the_design() -> None:
    assert list(load().topics) == [
        "events.raw.v1",
        "events.rejected.v1",
        "events.enriched.v1",
        "tables.profiles.v1",
        "tables.posts.v1",
        "tables.follows.v1",
        "timeline.deliveries.v1",
        "timeline.refills.v1",
    ]


def test_the_only_cycle_is_the_refill() -> None:
    topic_map = load()
    assert topic_map.undocumented_cycles() == []
    assert [set(cycle.path) for cycle in topic_map.cycles] == [
        {"timeline", "timeline.refills.v1", "timelines", "timeline.deliveries.v1"}
    ]


def test_the_raw_topic_takes_the_largest_request_and_its_stamp() -> None:
    assert load()["events.raw.v1"].max_message_bytes > 4 * 1024 * 1024


def test_what_meets_in_the_join_is_partitioned_alike() -> None:
    topic_map = load()
    joined = [topic_map[f"tables.{table}.v1"] for table in ("posts", "follows")] + [topic_map["timeline.refills.v1"]]
    assert {(topic.partition_subject, topic.partitions) for topic in joined} == {("author", joined[0].partitions)}


def test_event_sourced_tables_keep_the_whole_log() -> None:
    for name in ("tables.posts.v1", "tables.follows.v1"):
        assert (load()[name].cleanup, load()[name].retention_ms) == ("delete", -1)


def test_edges_lead_from_producer_to_topic_to_consumer() -> None:
    edges = load().edges()
    assert ("ingestion", "events.raw.v1") in edges
    assert ("events.raw.v1", "enrichment") in edges


def test_a_prefix_changes_only_what_topics_are_called_in_kafka(small: str) -> None:
    plain = loads(small, "m")
    prefixed = plain.prefixed("b-").prefixed("a-")
    assert prefixed.kafka_name("things.made.v1") == "a-b-things.made.v1"
    assert plain.kafka_name("things.made.v1") == "things.made.v1"
    assert prefixed["things.made.v1"] is plain["things.made.v1"]


def test_a_prefix_that_kafka_would_not_take_is_refused(small: str) -> None:
    with pytest.raises(ValueError, match="'a b' cannot begin a topic's name"):
        loads(small, "m").prefixed("a b")


def test_a_topic_that_is_not_on_the_map_has_no_name(small: str) -> None:
    with pytest.raises(KeyError, match=r"no topic things\.v1 on the map"):
        loads(small, "m").kafka_name("things.v1")


def test_a_file_is_named_in_its_faults(tmp_path: Path, small: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(small.replace("7d", "soon"))
    with pytest.raises(InvalidDocumentError, match=r"mine\.yaml:12:16: topics\.things\.made\.v1\.retention"):
        load(path)
