"""Asks the timeline service for what it serves, many users at a time, and compares.

In:  users with what their timelines should be. Out: what differs, and how much was compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import grpc
import pandas as pd
from penstock.events.v1.event_pb2 import ConsistencyToken
from penstock.jobs.audit.comparison import Difference, Entry, differences
from penstock.timeline.v1.timeline_pb2 import GetTimelineRequest, GetTimelineResponse, GetTimelinesRequest
from penstock.timeline.v1.timeline_pb2_grpc import TimelineServiceStub

FOUND = (
    "user string, kind string, author string, id string, detail string, users bigint, expected bigint, served bigint"
)
COLUMNS = [column.split()[0] for column in FOUND.split(", ")]
USERS_AT_A_TIME = 20
TIMEOUT_S = 60.0
MESSAGE_BYTES_MAX = 256 << 20
NOTHING_TO_SAY = ("", "", "", "", "")


def comparer(
    address: str, capacity: int, token: ConsistencyToken
) -> Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """For mapInPandas over (user, posts). Rows without a kind carry only counts."""
    encoded = token.SerializeToString()

    def compare(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        options = [("grpc.max_receive_message_length", MESSAGE_BYTES_MAX)]
        with grpc.insecure_channel(address, options=options) as channel:
            stub = TimelineServiceStub(channel)
            users = (pair for frame in frames for pair in zip(frame["user"], frame["posts"], strict=True))
            while some := list(islice(users, USERS_AT_A_TIME)):
                yield _compared(stub, some, capacity, ConsistencyToken.FromString(encoded))

    return compare


def _compared(
    stub: TimelineServiceStub, some: Sequence[tuple[str, Any]], capacity: int, token: ConsistencyToken
) -> pd.DataFrame:
    request = GetTimelinesRequest(
        requests=[GetTimelineRequest(user=user, limit=capacity, consistency=token) for user, _ in some]
    )
    answers = stub.GetTimelines(request, timeout=TIMEOUT_S).responses
    rows: list[tuple[object, ...]] = []
    for (user, posts), answer in zip(some, answers, strict=True):
        expected, served = _expected(posts), _served(answer)
        found = differences(user, expected, served)
        if answer.refilling:
            found.append(Difference(user, "refilling", "", "", "is still being refilled"))
        rows.append((*NOTHING_TO_SAY, 1, len(expected), len(served)))
        rows += [(*one, 0, 0, 0) for one in found]
    return pd.DataFrame(rows, columns=COLUMNS)


def _expected(posts: Any) -> list[Entry]:
    return [Entry(int(one["time_us"]), one["id"], one["author"], bytes(one["payload"])) for one in posts]


def _served(answer: GetTimelineResponse) -> list[Entry]:
    return [Entry(one.time_us, one.id, one.author, one.SerializeToString(deterministic=True)) for one in answer.posts]
