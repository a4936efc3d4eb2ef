from __future__ import annotations

from penstock.client.cli.partition_text import (
    HEADINGS,
    partition_cells,
    partition_fields,
    partition_note,
    sum_cells,
    sum_fields,
    sum_hash,
)
from penstock.client.place import Place
from penstock.client.timeline_state import TimelinePartition, TimelinesState


def partition(number: int, content_hash: bytes | None = None) -> TimelinePartition:
    applied = (Place("timeline.deliveries.v1", number, 17),)
    return TimelinePartition(number, 1_000, 800_000, 5_000, 3_360_000, 2, 1, applied, content_hash)


def state(*partitions: TimelinePartition, total: int = 2) -> TimelinesState:
    return TimelinesState(partitions, total, 800)


ONE, TWO = b"\x01" + bytes(15), b"\x02" + bytes(15)
APART = [state(partition(0, ONE)), state(partition(1, TWO))]


def test_a_partition_for_people_and_for_programs() -> None:
    cells = partition_cells(partition(1, TWO), shortened=True)
    assert cells == ("1", "1,000", "800,000", "5,000", "3.36 MB", "2", "1", "0200000000000000", "1:17")
    assert partition_cells(partition(1), shortened=False)[1:8] == (
        "1000", "800000", "5000", "3360000", "2", "1", "-",
    )  # fmt: skip
    assert len(cells) == len(HEADINGS)
    fields = partition_fields("t:7072", partition(1, TWO))
    assert (fields["server"], fields["partition"], fields["memory_bytes"]) == ("t:7072", 1, 3_360_000)
    assert (fields["content_hash"], fields["applied"]) == (TWO.hex(), ["timeline.deliveries.v1:1:17"])


def test_replicas_add_up_to_what_one_server_holds() -> None:
    together = [state(partition(0, ONE), partition(1, TWO))]
    assert sum_hash(APART) == sum_hash(together) == b"\x03" + bytes(15)
    assert sum_cells(APART, shortened=False) == (
        "all 2", "2000", "1600000", "10000", "6720000", "4", "2", (b"\x03" + bytes(15)).hex(), "",
    )  # fmt: skip
    assert sum_fields(APART)["content_hash"] == (b"\x03" + bytes(15)).hex()
    assert partition_note(APART) == ""


def test_a_part_is_not_taken_for_all() -> None:
    assert sum_cells(APART[:1], shortened=True)[0] == "1 of 2"
    assert sum_hash(APART[:1]) is None
    assert partition_note(APART[:1]) == "no hash of all timelines: 1 of 2 partitions are on servers that were not asked"
    assert partition_note([state(partition(0))]) == ""
    assert (sum_fields(APART[:1])["partitions"], sum_fields(APART[:1])["partitions_total"]) == (1, 2)


def test_a_partition_that_two_servers_hold_is_said() -> None:
    twice = [*APART, APART[0]]
    assert sum_hash(twice) is None
    assert partition_note(twice) == "several servers hold partition 0: the sums count them twice"
