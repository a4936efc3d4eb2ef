"""Compares what the service serves with the oracle.

In:  the oracle, hashes by partition, a way to ask. Out: how many timelines differ.
Where the hash of a partition is right, all of its timelines are. Where it is not, its users are asked for, though not
more than some thousands: one difference at least is counted then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from penstock.delivery.numbers import partition_of, user_number
from penstock.timeline.v1.timeline_pb2 import GetTimelineRequest
from penstock.timeline.v1.timeline_pb2_grpc import TimelineServiceStub
from stack import say
from timeline_growth import CAPACITY
from timeline_oracle import Oracle

ASKED_MAX = 5_000
SHOWN_MAX = 5
TIMEOUT_S = 60.0


def differing(stub: TimelineServiceStub, oracle: Oracle, served: Sequence[int], names: Sequence[str]) -> int:
    """`names` are users that may be asked for."""
    expected = oracle.hashes(len(served))
    wrong = {number for number, pair in enumerate(zip(expected, served, strict=True)) if pair[0] != pair[1]}
    if not wrong:
        return 0
    say(f"partitions with another hash than they must have: {sorted(wrong)}")
    index = {user: number for number, user in enumerate(oracle.users.tolist())}
    found = [name for name in _asked(names, wrong, len(served)) if not _is_right(stub, oracle, index, name)]
    for name in found[:SHOWN_MAX]:
        say(f"the timeline of {name} differs")
    return max(len(wrong), len(found))


def _asked(names: Sequence[str], wrong: set[int], partitions: int) -> list[str]:
    return [name for name in names if partition_of(user_number(name), partitions) in wrong][:ASKED_MAX]


def _is_right(stub: TimelineServiceStub, oracle: Oracle, index: Mapping[int, int], name: str) -> bool:
    answer = stub.GetTimeline(GetTimelineRequest(user=name, limit=CAPACITY), timeout=TIMEOUT_S)
    served = np.array([post.number for post in answer.posts], np.uint64)
    number = index.get(user_number(name))
    expected = oracle.timeline(number)[:, 1] if number is not None else np.empty(0, np.uint64)
    return bool(np.array_equal(served, expected))
