from dataclasses import dataclass

import pytest
from penstock.topics import loads
from penstock.topics.topic_map import TopicMap

CYCLE = """\
cycles:
  - path: [taker, "rows.{event-table}.v1"]
    reason: It ends.
"""


@dataclass(frozen=True)
class Declared:
    """A table as the map sees it."""

    from_events: bool
    partitioned_by: str | None = None
    history_ms: int = 1_000


@pytest.fixture
def topic_map(small: str) -> TopicMap:
    made = small[small.index("  things.made.v1") : small.index("  things.odd.v1")]
    by_event = made.replace("things.made", "rows.{event-table}").replace("maker", "taker")
    by_database = (
        made.replace("things.made", "rows.{database-table}")
        .replace("cleanup: delete", "cleanup: compact")
        .replace("retention: 7d", "retention: unlimited\n    compaction_lag: history")
    )
    split = small.index("  things.odd.v1")
    return loads(small[:split] + by_event + by_database + small[split:] + CYCLE, "m")


def test_templates_are_no_topics(topic_map: TopicMap) -> None:
    assert list(topic_map.topics) == ["things.made.v1", "things.odd.v1"]
    assert (topic_map.cycles, topic_map.tables) == ((), {})


def test_each_table_has_the_topic_of_its_kind_where_the_template_stood(topic_map: TopicMap) -> None:
    filled = topic_map.for_tables({"c": Declared(False), "b": Declared(True, "author"), "a": Declared(True)})
    assert list(filled.topics) == ["things.made.v1", "rows.b.v1", "rows.a.v1", "rows.c.v1", "things.odd.v1"]
    assert list(filled.tables.items()) == [("c", "rows.c.v1"), ("b", "rows.b.v1"), ("a", "rows.a.v1")]
    assert [filled[f"rows.{table}.v1"].cleanup for table in "abc"] == ["delete", "delete", "compact"]


def test_the_table_says_what_chooses_the_partition_and_how_long_its_past_is_kept(topic_map: TopicMap) -> None:
    filled = topic_map.for_tables({"b": Declared(True, "author"), "c": Declared(False, None, 86_400_000)})
    assert (filled["rows.b.v1"].partition_subject, filled["rows.b.v1"].compaction_lag) == ("author", None)
    assert (filled["rows.c.v1"].partition_subject, filled["rows.c.v1"].compaction_lag) == ("key", "86400000ms")


def test_cycles_through_a_template_are_written_out(topic_map: TopicMap) -> None:
    filled = topic_map.for_tables({"a": Declared(True), "b": Declared(True), "c": Declared(False)})
    assert [cycle.path for cycle in filled.cycles] == [("taker", "rows.a.v1"), ("taker", "rows.b.v1")]
    assert filled.undocumented_cycles() == []


@pytest.mark.parametrize("name", ["Posts", "a.b", "", "x" * 129, "{event-table}"])
def test_a_name_that_cannot_be_part_of_a_topics_is_refused(topic_map: TopicMap, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be part of a topic's name"):
        topic_map.for_tables({name: Declared(True)})


def test_a_name_that_would_hide_another_topic_is_refused(small: str) -> None:
    text = small.replace("dead_letters: things.odd.v1", "dead_letters: none").replace("odd.v1", "{event-table}.v1")
    with pytest.raises(ValueError, match=r"a table cannot be called 'made': things\.made\.v1 is another topic"):
        loads(text, "m").for_tables({"made": Declared(True)})
