import asyncio

from penstock.client import Added, CaughtUp, Cursor, Plaintext, Post, Removed, Timelines
from penstock.client.testing import FakeTimelines
from penstock.demo.live_timeline import GONE_US, NEW_US, LiveTimeline, State, watch

NOW_US = 1_790_000_000_000_000
CURSOR = Cursor(b"")


def post(number: int) -> Post:
    return Post(f"p{number}", "u1", NOW_US + number, 40_000, {"text": f"Post {number}"}, number, b"")


def shown(timeline: LiveTimeline, now_us: int, most: int = 9) -> list[tuple[str, State]]:
    return [(line.post.id, line.state) for line in timeline.newest(most, now_us)]


def test_what_came_is_new_for_a_moment() -> None:
    timeline = LiveTimeline("you")
    for number in (2, 1, 3):
        timeline.take(Added(post(number), CURSOR), NOW_US)
    assert shown(timeline, NOW_US) == [("p3", State.NEW), ("p2", State.NEW), ("p1", State.NEW)]
    assert shown(timeline, NOW_US + NEW_US, most=2) == [("p3", State.THERE), ("p2", State.THERE)]
    assert timeline.top == post(3)


def test_what_went_is_still_shown_in_its_place_for_a_moment() -> None:
    timeline = LiveTimeline("you")
    for number in (1, 2, 3):
        timeline.take(Added(post(number), CURSOR), NOW_US - NEW_US)
    timeline.take(Removed(2, "p2", "u1", CURSOR), NOW_US)
    assert shown(timeline, NOW_US) == [("p3", State.THERE), ("p2", State.GONE), ("p1", State.THERE)]
    assert shown(timeline, NOW_US + GONE_US) == [("p3", State.THERE), ("p1", State.THERE)]
    assert (len(timeline), timeline.came, timeline.went) == (2, 3, 1)


def test_what_comes_again_is_shown_once() -> None:
    timeline = LiveTimeline("you")
    timeline.take(Added(post(1), CURSOR), NOW_US)
    timeline.take(Removed(1, "p1", "u1", CURSOR), NOW_US)
    timeline.take(Added(post(1), CURSOR), NOW_US)
    assert shown(timeline, NOW_US) == [("p1", State.NEW)]


def test_nothing_to_tell_changes_nothing() -> None:
    timeline = LiveTimeline("you")
    timeline.take(CaughtUp(CURSOR), NOW_US)
    assert (shown(timeline, NOW_US), timeline.top, len(timeline)) == ([], None, 0)


async def test_it_is_watched_until_the_task_is_cancelled() -> None:
    timeline, changed = LiveTimeline("you"), asyncio.Event()

    def take(change: Added | Removed | CaughtUp) -> None:
        timeline.take(change, NOW_US)
        changed.set()

    with FakeTimelines() as service, Timelines(service.address, security=Plaintext()) as timelines:
        service.follow("you", "u1")
        watching = asyncio.create_task(watch(timelines, "you", take))
        service.post("u1", "p1", {"text": "Hello"}, time_us=NOW_US)
        async with asyncio.timeout(60):
            while timeline.top is None:
                await changed.wait()
                changed.clear()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    assert timeline.top.attributes == {"text": "Hello"}
