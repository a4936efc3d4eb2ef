from dataclasses import replace

from penstock.topics import load, loads
from penstock.topics.errors import Difference
from penstock.topics.shape import Shape, differences, shape


def test_every_setting_that_counts_is_said(small: str) -> None:
    topic_map = loads(small, "m")
    assert shape(topic_map["things.made.v1"], 1) == Shape(
        4, 1, {"cleanup.policy": "delete", "retention.ms": "604800000", "max.message.bytes": "2048"}
    )
    assert shape(topic_map["things.odd.v1"], 1).settings["retention.bytes"] == "-1"


def test_compaction_waits_as_long_as_the_map_says(small: str) -> None:
    compacted = small.replace("cleanup: delete\n    retention: unlimited", "cleanup: compact\n    retention: unlimited")
    lagging = compacted.replace("retention: unlimited", "retention: unlimited\n    compaction_lag: 12h")
    assert "min.compaction.lag.ms" not in shape(loads(compacted, "m")["things.odd.v1"], 1).settings
    assert shape(loads(lagging, "m")["things.odd.v1"], 1).settings["min.compaction.lag.ms"] == "43200000"


def test_one_replica_may_be_missing_where_there_are_three(small: str) -> None:
    topic = loads(small, "m")["things.made.v1"]
    assert "min.insync.replicas" not in shape(topic, 2).settings
    assert shape(topic, 3).settings["min.insync.replicas"] == "2"


def test_a_topic_does_not_differ_from_itself() -> None:
    for name, topic in load().topics.items():
        assert list(differences(name, shape(topic, 3), shape(topic, 3))) == []


def test_every_difference_is_listed(small: str) -> None:
    expected = shape(loads(small, "m")["things.made.v1"], 2)
    found = Shape(3, 1, {"cleanup.policy": "compact", "retention.ms": "5", "other": "x"})
    assert list(differences("t", expected, found)) == [
        Difference("t", "partitions", "4", "3"),
        Difference("t", "replicas", "at least 2", "1"),
        Difference("t", "cleanup.policy", "delete", "compact"),
        Difference("t", "retention.ms", "604800000", "5"),
        Difference("t", "max.message.bytes", "2048", "unknown"),
    ]


def test_more_replicas_and_another_order_of_policies_are_no_difference() -> None:
    expected = Shape(1, 1, {"cleanup.policy": "compact,delete"})
    assert list(differences("t", expected, replace(expected, replicas=3))) == []
    assert list(differences("t", expected, Shape(1, 1, {"cleanup.policy": "delete, compact"}))) == []
