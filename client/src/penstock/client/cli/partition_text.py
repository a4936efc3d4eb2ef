"""The partitions of a timeline service as people and programs read them. Pure.

In:  what servers say they hold.
Out: cells of text, one row per partition and one for all of them; objects for JSON, in which nothing is shortened.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from penstock.client.cli.table_text import offsets_text, size_text
from penstock.client.timeline_state import TimelinePartition, TimelinesState, summed_hash

HEADINGS = ("partition", "users", "entries", "posts", "memory", "lag", "refilling", "content", "applied")
NUMBERS = frozenset({"users", "entries", "posts", "memory", "lag", "refilling"})
"""The columns that are aligned to the right."""
_HASH_CHARS = 16


def partition_cells(partition: TimelinePartition, *, shortened: bool) -> tuple[str, ...]:
    """Under HEADINGS. For programs nothing is rounded or cut."""
    content = _hash_text(partition.content_hash, shortened=shortened)
    counts = _counts(partition, shortened=shortened)
    return str(partition.number), *counts, content, offsets_text(partition.applied)


def sum_cells(states: Sequence[TimelinesState], *, shortened: bool) -> tuple[str, ...]:
    """The last row. It has a hash of all timelines only if every partition is there once, and has one."""
    held, total = partitions_held(states)
    name = f"all {total}" if held == total else f"{held} of {total}"
    content = _hash_text(sum_hash(states), shortened=shortened)
    return name, *_counts(_sum(states), shortened=shortened), content, ""


def _hash_text(content_hash: bytes | None, *, shortened: bool) -> str:
    if content_hash is None:
        return "-"
    return content_hash.hex()[:_HASH_CHARS] if shortened else content_hash.hex()


def _counts(counted: TimelinePartition, *, shortened: bool) -> tuple[str, ...]:
    numbers = (
        counted.users,
        counted.entries,
        counted.posts,
        counted.memory_bytes,
        counted.lag_records,
        counted.refilling,
    )
    if not shortened:
        return tuple(str(number) for number in numbers)
    return tuple(size_text(number) if index == 3 else f"{number:,}" for index, number in enumerate(numbers))


def _sum(states: Sequence[TimelinesState]) -> TimelinePartition:
    held = [partition for state in states for partition in state.partitions]
    return TimelinePartition(
        number=-1,
        users=sum(one.users for one in held),
        entries=sum(one.entries for one in held),
        posts=sum(one.posts for one in held),
        memory_bytes=sum(one.memory_bytes for one in held),
        lag_records=sum(one.lag_records for one in held),
        refilling=sum(one.refilling for one in held),
        applied=(),
        content_hash=None,
    )


def sum_hash(states: Sequence[TimelinesState]) -> bytes | None:
    """Of all timelines; None where a partition is missing, or is there twice, or nobody asked for hashes."""
    held = [partition for state in states for partition in state.partitions]
    _, total = partitions_held(states)
    once = sorted(partition.number for partition in held) == list(range(total))
    return summed_hash(held) if once else None


def partitions_held(states: Sequence[TimelinesState]) -> tuple[int, int]:
    """How many different ones, of how many."""
    held = {partition.number for state in states for partition in state.partitions}
    return len(held), max(state.partitions_total for state in states)


def partition_note(states: Sequence[TimelinesState]) -> str:
    """Why hashes do not add up; empty if they do, or if there are none."""
    numbers = sorted(partition.number for state in states for partition in state.partitions)
    twice = sorted({number for number, after in pairwise(numbers) if number == after})
    held, total = partitions_held(states)
    if twice:
        return f"several servers hold partition {', '.join(map(str, twice))}: the sums count them twice"
    if held < total and any(partition.content_hash for state in states for partition in state.partitions):
        return f"no hash of all timelines: {total - held} of {total} partitions are on servers that were not asked"
    return ""


def partition_fields(server: str, partition: TimelinePartition) -> dict[str, Any]:
    """`applied` names the newest record that the partition holds."""
    return {
        "server": server,
        "partition": partition.number,
        **_count_fields(partition),
        "content_hash": None if partition.content_hash is None else partition.content_hash.hex(),
        "applied": [str(place) for place in partition.applied],
    }


def sum_fields(states: Sequence[TimelinesState]) -> dict[str, Any]:
    """The last object; it has no `partition`."""
    content = sum_hash(states)
    held, total = partitions_held(states)
    return {
        "partitions": held,
        "partitions_total": total,
        "capacity": states[0].capacity,
        **_count_fields(_sum(states)),
        "content_hash": None if content is None else content.hex(),
    }


def _count_fields(counted: TimelinePartition) -> dict[str, int]:
    return {
        "users": counted.users,
        "entries": counted.entries,
        "posts": counted.posts,
        "memory_bytes": counted.memory_bytes,
        "lag_records": counted.lag_records,
        "refilling": counted.refilling,
    }
