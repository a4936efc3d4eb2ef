from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.delivery.numbers import user_number
from penstock.events.v1.event_pb2 import Position
from penstock.timeline.v1 import timeline_pb2
from penstock.timeline.v1.delivery_pb2 import Post
from penstock.timeline.v1.timeline_pb2 import Cursor, GetTimelineRequest, GetTimelineResponse
from penstock.timelines import pages
from penstock.timelines.errors import BadQuestion
from penstock.timelines.pages import Limits

World = Any  # of conftest.py
LIMITS = Limits(50, 1000)
NEWER = timeline_pb2.DIRECTION_NEWER


def get(world: World, user: str, bytes_max: int = pages.PAGE_BYTES_MAX, **asked: Any) -> GetTimelineResponse:
    question = pages.question(GetTimelineRequest(user=user, **asked), LIMITS)
    answer = pages.page(world.held_of(user), user_number(user), question, stale=False, bytes_max=bytes_max)
    return GetTimelineResponse.FromString(answer)


def posted(world: World, count: int, **attributes: str) -> None:
    world.apply(world.join.follow("reader", "ann"))
    for number in range(count):
        world.apply(world.join.post("ann", f"p{number}", 1_000 + number, **attributes))


def ids(page: GetTimelineResponse) -> list[str]:
    return [post.id for post in page.posts]


def test_posts_are_given_as_they_were_delivered(world: World) -> None:
    posted(world, 3, text="Hello")
    page = get(world, "reader")
    assert list(page.posts) == world.join.timeline("reader")
    assert page.posts[0].attributes["text"] == "Hello"
    assert list(page.applied) == [
        Position(topic="timeline.deliveries.v1", partition=world.partition_of("reader"), offset=3)
    ]
    assert (page.HasField("next"), page.refilling, page.stale) == (False, False, False)


def test_a_user_that_nobody_knows_has_an_empty_timeline(world: World) -> None:
    page = get(world, "nobody")
    assert (list(page.posts), page.HasField("next"), list(page.applied)) == ([], False, [])
    assert page.live == Cursor()
    assert page.HasField("live")


def test_a_first_page_says_where_a_subscription_goes_on(world: World) -> None:
    posted(world, 5)
    page = get(world, "reader", limit=2)
    assert ids(page) == ["p4", "p3"]
    assert page.next == Cursor(time_us=1_003, post_id="p3", author="ann")
    assert (page.live.time_us, page.live.post_id, page.live.author) == (1_003, "p3", "ann")
    assert list(page.live.held) == [post.number for post in page.posts]
    assert list(page.live.seen) == list(page.applied)
    whole = get(world, "reader", limit=5)
    assert not whole.HasField("next")
    assert (whole.live.post_id, len(whole.live.held)) == ("", 5), "all of it, so nothing is too old"
    assert not get(world, "reader", cursor=page.next).HasField("live")


def test_pages_fit_together_in_both_directions(world: World) -> None:
    posted(world, 7)
    cursor, found = None, []
    while cursor is None or cursor.post_id:
        page = get(world, "reader", limit=3, cursor=cursor)
        found.append(ids(page))
        cursor = page.next
    assert found == [["p6", "p5", "p4"], ["p3", "p2", "p1"], ["p0"]]
    at = Cursor(time_us=1_000, post_id="p0", author="ann")
    page = get(world, "reader", limit=4, cursor=at, direction=NEWER)
    assert ids(page) == ["p4", "p3", "p2", "p1"]
    page = get(world, "reader", limit=4, cursor=page.next, direction=NEWER)
    assert ids(page) == ["p6", "p5"]
    assert page.next.post_id == "p6"
    nothing = get(world, "reader", limit=4, cursor=page.next, direction=NEWER)
    assert (ids(nothing), nothing.next) == ([], page.next)


def test_a_time_alone_is_a_place(world: World) -> None:
    posted(world, 4)
    assert ids(get(world, "reader", cursor=Cursor(time_us=1_002))) == ["p1", "p0"]
    assert ids(get(world, "reader", cursor=Cursor(time_us=1_002), direction=NEWER)) == ["p3", "p2"]


def test_large_posts_make_short_pages_and_none_is_lost(world: World) -> None:
    posted(world, 7, text="x" * 1_000)
    older, cursor = [], None
    while cursor is None or cursor.post_id:
        page = get(world, "reader", bytes_max=2_500, cursor=cursor)
        older.append(ids(page))
        cursor = page.next
    assert older == [["p6", "p5"], ["p4", "p3"], ["p2", "p1"], ["p0"]]
    first = get(world, "reader", bytes_max=2_500)
    assert (list(first.live.held), first.live.post_id) == ([post.number for post in first.posts], "p5")
    newer, cursor = [], Cursor(time_us=1_000, post_id="p0", author="ann")
    while page := get(world, "reader", bytes_max=2_500, cursor=cursor, direction=NEWER):
        if not page.posts:
            break
        newer.append(ids(page))
        cursor = page.next
    assert newer == [["p2", "p1"], ["p4", "p3"], ["p6", "p5"]]
    assert ids(get(world, "reader", bytes_max=1)) == ["p6"], "one at least"


@given(data=st.data())
def test_any_walk_shows_each_post_once(data: st.DataObject, make_world: Callable[..., World]) -> None:
    world = make_world(capacity=20, slack=5)
    for author in ("ann", "bob"):
        world.apply(world.join.follow("reader", author))
    for number in range(data.draw(st.integers(0, 25))):
        time_us = data.draw(st.integers(1, 6), label="time")  # ties
        world.apply(world.join.post(data.draw(st.sampled_from(["ann", "bob"])), f"p{number}", time_us))
    limit, cursor = data.draw(st.integers(1, 7)), None
    seen: list[Post] = []
    while cursor is None or cursor.author:
        page = get(world, "reader", limit=limit, cursor=cursor)
        seen += page.posts
        cursor = page.next
    assert seen == world.join.timeline("reader")
    if seen:
        back, cursor = [seen[-1]], Cursor(time_us=seen[-1].time_us, post_id=seen[-1].id, author=seen[-1].author)
        while (page := get(world, "reader", limit=limit, cursor=cursor, direction=NEWER)).posts:
            back += reversed(page.posts)
            cursor = page.next
        assert back == seen[::-1]


def test_it_is_read_under_the_partitions_lock(world: World) -> None:
    posted(world, 1)
    with world.held_of("reader").lock:
        reading = threading.Thread(target=get, args=(world, "reader"))
        reading.start()
        reading.join(0.05)
        assert reading.is_alive()
    reading.join()


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (GetTimelineRequest(), "user is empty"),
        (GetTimelineRequest(user="u" * 2_000), "user has 2000 bytes: at most 1024"),
        (GetTimelineRequest(user="u", limit=1001), "limit is 1001: at most 1000"),
        (GetTimelineRequest(user="u", direction=7), "direction 7 is unknown"),  # type: ignore[arg-type]
        (GetTimelineRequest(user="u", cursor=Cursor(time_us=-1)), "it cannot be negative"),
        (GetTimelineRequest(user="u", direction=NEWER), "NEWER needs a cursor"),
        (GetTimelineRequest(user="u", cursor=Cursor(held=[1])), "pages go on from `next`"),
        (GetTimelineRequest(user="u", cursor=Cursor(time_us=1, held=[1] * 1001)), "holds 1001 posts: at most 1000"),
    ],
)
def test_what_makes_no_sense_is_said(request_: GetTimelineRequest, said: str) -> None:
    with pytest.raises(BadQuestion, match=said):
        pages.question(request_, LIMITS)


def test_without_a_limit_the_default_counts() -> None:
    assert pages.question(GetTimelineRequest(user="u"), LIMITS).limit == 50
