import re
from pathlib import Path

import pytest
from penstock.document import InvalidDocumentError
from penstock.pipeline import example
from penstock.pipeline import load as load_pipeline
from penstock.pipeline import loads as loads_pipeline
from penstock.topics import TopicMap, load, loads, missing_keys, missing_messages
from penstock.topics.errors import TopicMapError

IN_PROTO = Path(__file__).parents[3] / "proto" / "topics.yaml"


@pytest.fixture
def social() -> TopicMap:
    """The map of the pipeline that is shipped."""
    return load().for_tables(load_pipeline().tables)


def test_the_shipped_map_is_the_one_in_proto() -> None:
    assert load() == load(IN_PROTO)


def test_the_shipped_map_has_every_topic_of_the_design(social: TopicMap) -> None:
    assert list(social.topics) == [
        "events.raw.v1",
        "events.rejected.v1",
        "events.enriched.v1",
        "enrichment.seen.v1",
        "tables.profiles.v1",
        "tables.posts.v1",
        "tables.follows.v1",
        "changes.rejected.v1",
        "timeline.deliveries.v1",
        "timeline.refills.v1",
        "timeline.progress.v1",
    ]
    assert social.tables == {table: f"tables.{table}.v1" for table in ("profiles", "posts", "follows")}


def test_tables_come_with_a_pipeline(social: TopicMap) -> None:
    assert [name for name in social.topics if name not in load().topics] == list(social.tables.values())
    assert load().tables == {}
    assert social.for_tables({}) == load()


def test_every_cycle_is_documented_with_tables_and_without(social: TopicMap) -> None:
    assert social.undocumented_cycles() == load().undocumented_cycles() == []
    refill = {"timeline", "timeline.refills.v1", "timelines", "timeline.deliveries.v1"}
    progress = {"timeline", "timeline.refills.v1", "timelines", "timeline.progress.v1"}
    seen = {"enrichment", "enrichment.seen.v1"}
    assert [set(cycle.path) for cycle in load().cycles] == [seen, refill, progress]
    assert [set(cycle.path) for cycle in social.cycles] == [
        {"enrichment", "tables.posts.v1"},
        {"enrichment", "tables.follows.v1"},
        seen,
        refill,
        progress,
    ]


def test_a_prefix_stays_when_tables_come(social: TopicMap) -> None:
    prefixed = load().prefixed("a-").for_tables(load_pipeline().tables)
    assert prefixed == social.prefixed("a-")
    assert prefixed.kafka_name(prefixed.tables["posts"]) == "a-tables.posts.v1"


def test_tables_that_would_break_a_law_of_the_map_are_refused() -> None:
    text = re.sub("    partitioned_by: author .*\n", "", IN_PROTO.read_text())
    uneven = text.replace("partitioned_by: device_id # the", "partitioned_by: author # the")
    topic_map = loads(
        uneven.replace("    partitions: 8\n    cleanup: compact", "    partitions: 9\n    cleanup: compact", 1), "m"
    )
    with pytest.raises(
        TopicMapError, match=r"would not be sound: is 8, but enrichment\.seen\.v1 is partitioned by author"
    ):
        topic_map.for_tables(load_pipeline().tables)


def test_the_raw_topic_takes_the_largest_request_and_its_stamp() -> None:
    assert load()["events.raw.v1"].max_message_bytes > 4 * 1024 * 1024


def test_what_meets_in_the_join_is_partitioned_alike(social: TopicMap) -> None:
    joined = [social[f"tables.{table}.v1"] for table in ("posts", "follows")] + [social["timeline.refills.v1"]]
    assert {(topic.partition_subject, topic.partitions) for topic in joined} == {("author", joined[0].partitions)}


def test_what_was_seen_lies_in_the_partition_of_the_raw_batch() -> None:
    raw, seen = load()["events.raw.v1"], load()["enrichment.seen.v1"]
    assert (raw.partition_subject, raw.partitions) == (seen.partition_subject, seen.partitions)


def test_event_sourced_tables_keep_the_whole_log(social: TopicMap) -> None:
    for name in ("tables.posts.v1", "tables.follows.v1"):
        assert (social[name].cleanup, social[name].retention_ms) == ("delete", -1)


def test_tables_of_a_database_are_compacted_but_keep_their_history(social: TopicMap) -> None:
    profiles = social["tables.profiles.v1"]
    assert (profiles.cleanup, profiles.compaction_lag) == ("compact", f"{30 * 24 * 3_600_000}ms")


def test_the_other_example_has_a_sound_map_too() -> None:
    shop = load().for_tables(loads_pipeline(example("shop"), "shop.yaml").tables)
    assert list(shop.tables.values()) == ["tables.products.v1", "tables.tax_rates.v1", "tables.orders.v1"]
    assert missing_messages(shop) == missing_keys(shop) == []


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
    with pytest.raises(TopicMapError, match="'a b' cannot begin a topic's name"):
        loads(small, "m").prefixed("a b")


def test_a_topic_that_is_not_on_the_map_has_no_name(small: str) -> None:
    with pytest.raises(KeyError, match=r"no topic things\.v1 on the map"):
        loads(small, "m").kafka_name("things.v1")


def test_another_map_may_have_other_numbers(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(IN_PROTO.read_text().replace("partitions: 8", "partitions: 5"))
    mine = load(path).for_tables(load_pipeline().tables)
    assert list(mine.topics) == list(load().for_tables(load_pipeline().tables).topics)
    assert {mine[name].partitions for name in mine.tables.values()} == {5}


def test_another_map_has_every_topic_of_ours(tmp_path: Path, small: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(small)
    with pytest.raises(TopicMapError, match=r"mine\.yaml lacks events\.raw\.v1, .*; it needs every topic of the map"):
        load(path)


def test_a_file_is_named_in_its_faults(tmp_path: Path, small: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(small.replace("7d", "soon"))
    with pytest.raises(InvalidDocumentError, match=r"mine\.yaml:12:16: topics\.things\.made\.v1\.retention"):
        load(path)
