from __future__ import annotations

import pytest
from penstock.events.v1.event_pb2 import Position
from penstock.timeline.v1.delivery_pb2 import JoinProgress
from penstock.timelines.errors import BrokenLogError
from penstock.timelines.progress import Progress

DELIVERIES, POSTS, FOLLOWS = "timeline.deliveries.v1", "tables.posts.v1", "tables.follows.v1"


def told(
    query: str, reflects: dict[tuple[str, int], int], delivered: dict[int, int], prefix: str = "", started_us: int = 0
) -> bytes:
    return JoinProgress(
        query=query,
        started_us=started_us,
        reflects=[Position(topic=prefix + topic, partition=n, offset=at) for (topic, n), at in reflects.items()],
        delivered=[Position(topic=prefix + DELIVERIES, partition=n, offset=at) for n, at in delivered.items()],
    ).SerializeToString()


def test_nothing_is_known_before_anything_is_told() -> None:
    progress = Progress(DELIVERIES)
    assert progress.needed({(POSTS, 0): 0}, 0) is None
    assert progress.needed({}, 0) is None


def test_what_is_reflected_says_up_to_where_to_apply() -> None:
    progress = Progress(DELIVERIES)
    progress.take(told("timelines", {(POSTS, 0): 4, (FOLLOWS, 0): 1}, {2: 10}), b"timelines")
    assert progress.needed({(POSTS, 0): 4}, 2) == 10
    assert progress.needed({(POSTS, 0): 4, (FOLLOWS, 0): 1}, 2) == 10
    assert progress.needed({(POSTS, 0): 5}, 2) is None
    assert progress.needed({(POSTS, 1): 0}, 2) is None
    assert progress.needed({(POSTS, 0): 4}, 3) == -1, "nothing was ever written there"


def test_the_newest_of_a_query_counts_though_it_began_again() -> None:
    progress = Progress(DELIVERIES)
    progress.take(told("timelines", {(POSTS, 0): 4}, {0: 10}), b"timelines")
    progress.take(told("timelines", {(POSTS, 0): 1}, {0: 12}), b"timelines")
    assert progress.needed({(POSTS, 0): 4}, 0) is None
    assert progress.needed({(POSTS, 0): 1}, 0) == 12


def test_a_process_that_was_replaced_is_not_believed() -> None:
    progress = Progress(DELIVERIES)
    progress.take(told("timelines", {(POSTS, 0): 1}, {0: 12}, started_us=2), b"timelines")
    progress.take(told("timelines", {(POSTS, 0): 4}, {0: 13}, started_us=1), b"timelines")
    assert progress.needed({(POSTS, 0): 4}, 0) is None


def test_one_query_must_reflect_all_of_it() -> None:
    progress = Progress(DELIVERIES)
    progress.take(told("one", {(POSTS, 0): 4}, {0: 10}), b"one")
    progress.take(told("other", {(FOLLOWS, 0): 4}, {0: 20}), b"other")
    assert progress.needed({(POSTS, 0): 4, (FOLLOWS, 0): 4}, 0) is None
    assert progress.needed({(FOLLOWS, 0): 4}, 0) == 20


def test_a_query_that_was_deleted_is_forgotten() -> None:
    progress = Progress(DELIVERIES)
    progress.take(told("one", {(POSTS, 0): 4}, {0: 10}), b"one")
    progress.take(None, b"other")
    assert progress.needed({(POSTS, 0): 4}, 0) == 10
    progress.take(None, b"one")
    assert progress.needed({(POSTS, 0): 4}, 0) is None


def test_topics_may_be_told_by_their_names_in_kafka() -> None:
    progress = Progress(DELIVERIES, "test-")
    progress.take(told("timelines", {(POSTS, 0): 4}, {0: 10}, prefix="test-"), b"timelines")
    assert progress.needed({(POSTS, 0): 4}, 0) == 10


def test_what_is_no_progress_is_a_bug() -> None:
    with pytest.raises(BrokenLogError, match=r"timeline\.progress\.v1"):
        Progress(DELIVERIES).take(b"\xff\xff", b"timelines")
