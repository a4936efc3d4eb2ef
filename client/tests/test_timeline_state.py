from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from penstock.client.timeline_state import TimelinePartition, state_of, summed_hash
from penstock.timeline.v1.timeline_pb2 import DescribeResponse, PartitionDescription

HASHES = st.lists(st.binary(min_size=16, max_size=16), max_size=5)


def held(content_hash: bytes | None) -> TimelinePartition:
    return TimelinePartition(0, 0, 0, 0, 0, 0, 0, (), content_hash)


@given(HASHES, HASHES)
def test_hashes_add_up_whoever_holds_what(mine: list[bytes], others: list[bytes]) -> None:
    sums = [summed_hash([held(one) for one in part]) for part in (mine, others)]
    assert summed_hash([held(one) for one in sums]) == summed_hash([held(one) for one in [*others, *mine]])


def test_a_hash_that_is_missing_is_not_taken_for_nothing() -> None:
    assert summed_hash([held(bytes(16)), held(None)]) is None


def test_a_sum_beyond_sixteen_bytes_begins_again() -> None:
    assert summed_hash([held(b"\xff" * 16), held(b"\x02" + bytes(15))]) == b"\x01" + bytes(15)


def test_partitions_are_in_order_and_unasked_hashes_absent() -> None:
    partitions = [
        PartitionDescription(timeline_partition=number, entries=2, posts=3, bytes=4, lag_records=5, refilling=6)
        for number in (5, 1)
    ]
    state = state_of(DescribeResponse(partitions=partitions, partitions_total=8, capacity=800))
    assert [partition.number for partition in state.partitions] == [1, 5]
    assert (state.partitions_total, state.capacity, state.content_hash) == (8, 800, None)
    first = state.partitions[0]
    assert (first.entries, first.posts, first.memory_bytes, first.lag_records, first.refilling) == (2, 3, 4, 5, 6)
