"""What a timeline service holds and how far it has come: plain values, made from its answer to Describe. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.client.place import Place
from penstock.client.row import places_of
from penstock.timeline.v1 import timeline_pb2

_HASH_BYTES = 16
_HASH_LIMIT = 1 << 128


@dataclass(frozen=True, slots=True)
class TimelinePartition:
    """A part of the users, as one server holds it."""

    number: int
    users: int
    entries: int
    """Of all users and of widely followed authors."""
    posts: int
    """That the entries refer to."""
    memory_bytes: int
    lag_records: int
    """Deliveries that are not applied yet."""
    refilling: int
    """Timelines that wait for older posts."""
    applied: tuple[Place, ...]
    content_hash: bytes | None
    """Of all timelines; None where nobody asked for it."""


@dataclass(frozen=True, slots=True)
class TimelinesState:
    """What one server holds, and how far it has come. Other replicas hold the other partitions."""

    partitions: tuple[TimelinePartition, ...]
    partitions_total: int
    capacity: int
    """How many posts a timeline has at most."""

    @property
    def content_hash(self) -> bytes | None:
        """Of all timelines held here; None where nobody asked for it."""
        return summed_hash(self.partitions)


def summed_hash(partitions: Iterable[TimelinePartition]) -> bytes | None:
    """The same for the same timelines, over however many partitions they are spread. None: one has no hash."""
    total = 0
    for partition in partitions:
        if partition.content_hash is None:
            return None
        total += int.from_bytes(partition.content_hash, "little")
    return (total % _HASH_LIMIT).to_bytes(_HASH_BYTES, "little")


def state_of(response: timeline_pb2.DescribeResponse) -> TimelinesState:
    """The answer to Describe."""
    partitions = sorted((_partition_of(said) for said in response.partitions), key=lambda held: held.number)
    return TimelinesState(tuple(partitions), response.partitions_total, response.capacity)


def _partition_of(said: timeline_pb2.PartitionDescription) -> TimelinePartition:
    return TimelinePartition(
        said.timeline_partition,
        said.users,
        said.entries,
        said.posts,
        said.bytes,
        said.lag_records,
        said.refilling,
        places_of(said.applied),
        said.content_hash or None,
    )
