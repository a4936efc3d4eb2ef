import pytest
from penstock.document import InvalidDocumentError
from penstock.topics import loads

LOOP = "    consumers: []\n"
CYCLE = """\
cycles:
  - path: [maker, things.made.v1, taker, things.odd.v1]
    reason: It ends.
"""


def faults(text: str) -> list[str]:
    with pytest.raises(InvalidDocumentError) as caught:
        loads(text, "m")
    return [str(fault) for fault in caught.value.faults]


def test_an_undocumented_cycle_is_a_fault(small: str) -> None:
    [fault] = faults(small.replace(LOOP, "    consumers: [maker]\n"))
    way = "maker → things.made.v1 → taker → things.odd.v1 → maker"
    assert f"cycles: the cycle {way} is not documented; list it with the reason why it ends" in fault


def test_a_documented_cycle_is_none_wherever_it_starts(small: str) -> None:
    text = small.replace(LOOP, "    consumers: [maker]\n")
    turned = CYCLE.replace("maker, things.made.v1, taker, things.odd.v1", "taker, things.odd.v1, maker, things.made.v1")
    assert loads(text + CYCLE, "m").undocumented_cycles() == []
    assert loads(text + turned, "m").undocumented_cycles() == []


def test_a_cycle_that_is_documented_but_does_not_exist_is_a_fault(small: str) -> None:
    assert faults(small + CYCLE) == [
        "29:11: cycles[0].path: things.odd.v1 does not flow into maker; list the steps and topics of a cycle in order"
    ]


def test_topics_partitioned_by_the_same_column_have_equally_many_partitions(small: str) -> None:
    text = small.replace("    partitions:", "    partitioned_by: author\n    partitions:")
    assert faults(text) == [
        "23:17: topics.things.odd.v1.partitions: is 1, but things.made.v1 is partitioned by author too;"
        " should be 4, as there"
    ]


def test_whoever_sets_records_aside_writes_the_dead_letters(small: str) -> None:
    assert faults(small.replace("producers: [taker]", "producers: [maker]")) == [
        "16:19: topics.things.made.v1.dead_letters: taker reads things.made.v1 but is not a producer of"
        " things.odd.v1; add taker to the producers there, or say none"
    ]


def test_a_table_has_one_topic(small: str) -> None:
    text = small.replace("dead_letters: things.odd.v1", "dead_letters: none")
    text = text.replace("things.odd", "odd.{event-table}").replace("things.made", "made.{event-table}")
    assert faults(text) == [
        "18:5: topics.odd.{event-table}.v1: stands for the same tables as made.{event-table}.v1;"
        " let each table have one topic"
    ]


def test_only_tables_have_a_history(small: str) -> None:
    text = small.replace("cleanup: delete\n    retention: unlimited", "cleanup: compact\n    retention: unlimited")
    lagging = text.replace("retention: unlimited", "retention: unlimited\n    compaction_lag: history")
    assert faults(lagging) == [
        "24:21: topics.things.odd.v1.compaction_lag: is history, but only topics of tables have one;"
        " say how long, such as 30d"
    ]
    named = lagging.replace("dead_letters: things.odd.v1", "dead_letters: none").replace(
        "odd.v1", "{database-table}.v1"
    )
    assert list(loads(named, "m").topics) == ["things.made.v1"]
