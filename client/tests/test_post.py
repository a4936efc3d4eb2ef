from __future__ import annotations

from datetime import UTC, datetime

import pytest
from penstock.client.cursor import from_wire, to_wire
from penstock.client.place import Place
from penstock.client.post import PageQuery, page_of, post_of, request_of
from penstock.events.v1.event_pb2 import Position, RowVersion
from penstock.timeline.v1 import timeline_pb2
from penstock.timeline.v1.delivery_pb2 import Post

NOON_US = 1_767_268_800_000_000  # 2026-01-01 12:00 UTC
SAID = Post(
    id="p1",
    author="ada",
    time_us=NOON_US,
    error_bound_us=0,
    attributes={"text": "Hello"},
    version=RowVersion(valid_from_us=NOON_US, position=b"x"),
    number=2**64 - 1,
)


def test_a_post() -> None:
    post = post_of(SAID)
    assert (post.id, post.author, post.attributes, post.number) == ("p1", "ada", {"text": "Hello"}, 2**64 - 1)
    assert (post.time, post.position) == (datetime(2026, 1, 1, 12, tzinfo=UTC), b"x")
    assert to_wire(post.cursor) == timeline_pb2.Cursor(time_us=NOON_US, post_id="p1", author="ada")


def test_a_bound_of_nothing_is_not_a_bound_of_zero() -> None:
    assert post_of(SAID).error_bound_us == 0
    assert post_of(Post(id="p1")).error_bound_us is None


def test_a_page() -> None:
    place = timeline_pb2.Cursor(time_us=5, post_id="p1")
    live = timeline_pb2.Cursor(held=[1])
    applied = [Position(topic="t", partition=n, offset=9) for n in (1, 0)]
    full = page_of(timeline_pb2.GetTimelineResponse(posts=[SAID], next=place, live=live, stale=True, applied=applied))
    assert (full.next, full.live) == (from_wire(place), from_wire(live))
    assert (full.stale, full.refilling, full.applied) == (True, False, (Place("t", 0, 9), Place("t", 1, 9)))
    empty = page_of(timeline_pb2.GetTimelineResponse(refilling=True))
    assert (empty.posts, empty.next, empty.live, empty.refilling) == ((), None, None, True)


def test_questions() -> None:
    cursor = post_of(SAID).cursor
    newest = request_of(PageQuery("bob"))
    assert (newest.user, newest.HasField("cursor"), newest.limit) == ("bob", False, 0)
    assert newest.direction == timeline_pb2.DIRECTION_OLDER
    newer = request_of(PageQuery("bob", cursor, newer=True, limit=5))
    assert (newer.cursor, newer.limit) == (to_wire(cursor), 5)
    assert newer.direction == timeline_pb2.DIRECTION_NEWER


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (PageQuery(""), "whose timeline"),
        (PageQuery("bob", limit=0), "limit must be at least 1, not 0"),
        (PageQuery("bob", newer=True), "newer than what"),
    ],
)
def test_questions_that_make_no_sense(query: PageQuery, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        request_of(query)
