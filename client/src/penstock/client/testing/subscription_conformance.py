"""What every timeline service owes whoever subscribes, and the reverse; the other half of `timeline_conformance`.

The law: whoever takes every change in holds what the cursor of the last one says, and no change is none. Connections
may be lost, and cursors kept for as long as one likes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from penstock.client import Added, CaughtUp, Cursor, Plaintext, Post, Removed, Subscription, Timelines, TimelineView
from penstock.client.cursor import to_wire
from penstock.client.testing.proxy import LossyProxy
from penstock.client.testing.timeline_conformance import PATIENCE_S, ids
from penstock.client.testing.timeline_scene import Scene


def read_until(subscription: Subscription, view: TimelineView, done: Callable[[], bool]) -> None:
    """Takes changes in; each must be one, and its cursor must say what is held after it."""
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < deadline, f"still {ids(view)} after {PATIENCE_S:g} s"
        change = next(subscription)
        held = {post.number for post in view}
        if isinstance(change, Added):
            assert change.post.number not in held, f"{change.post.id} was told twice"
        elif isinstance(change, Removed):
            assert change.number in held, f"{change.id} was not held"
        view.apply(change)
        assert set(to_wire(change.cursor).held) == {post.number for post in view}


def read_until_caught_up(subscription: Subscription, view: TimelineView) -> None:
    """All that was applied before has been told then."""
    while not isinstance(change := next(subscription), CaughtUp):
        view.apply(change)


class SubscriptionConformance:
    """The suite. Import the fixtures of `timeline_conformance` along with it."""

    def test_a_subscription_goes_on_where_a_page_ended(self, scene: Scene, timelines: Timelines) -> None:
        scene.follow("ada", "bob")
        for author, post_id in [("ada", "p0"), ("ada", "p1"), ("bob", "p2"), ("ada", "p3")]:
            scene.post(author, post_id)
        page = timelines.get(scene.reader, limit=3, consistency=scene.token)
        view = TimelineView(page.posts)
        with timelines.subscribe(scene.reader, page.live) as subscription:
            read_until_caught_up(subscription, view)
            assert ids(view) == ["p3", "p2", "p1"]
            scene.post("bob", "p4")
            read_until(subscription, view, lambda: ids(view) == ["p4", "p3", "p2", "p1"])
            scene.delete("ada", "p3")
            scene.delete("ada", "p0")  # older than what the page held: nobody is told
            scene.unfollow("bob")
            read_until(subscription, view, lambda: ids(view) == ["p1"])
            assert subscription.cursor is not None
        with timelines.subscribe(scene.reader, subscription.cursor.for_all()) as rest:
            scene.follow("bob")
            read_until(rest, view, lambda: ids(view) == ["p4", "p2", "p1"])

    def test_without_a_cursor_a_subscription_begins_with_all(self, scene: Scene, timelines: Timelines) -> None:
        scene.follow("ada")
        for number in range(5):
            scene.post("ada", f"p{number}")
        timelines.get(scene.reader, consistency=scene.token)
        told: list[Post] = []
        with timelines.subscribe(scene.reader) as subscription:
            while isinstance(change := next(subscription), Added):
                told.append(change.post)
        assert isinstance(change, CaughtUp)
        assert [post.id for post in told] == [f"p{number}" for number in range(5)]
        assert tuple(reversed(told)) == timelines.get(scene.reader).posts

    def test_a_cursor_that_was_stored_tells_what_happened_since(self, scene: Scene, timelines: Timelines) -> None:
        scene.follow("ada")
        for post_id in ("p1", "p2", "p3"):
            scene.post("ada", post_id)
        page = timelines.get(scene.reader, consistency=scene.token)
        assert page.live is not None
        stored = page.live.text
        scene.delete("ada", "p2")
        for post_id in ("p4", "p5", "p1"):  # p1 is written again
            scene.post("ada", post_id)
        scene.delete("ada", "p4")
        expected = timelines.get(scene.reader, consistency=scene.token)
        view = TimelineView(page.posts)
        with timelines.subscribe(scene.reader, Cursor.parse(stored)) as subscription:
            read_until(subscription, view, lambda: view.posts == expected.posts)
        assert ids(view) == ["p1", "p5", "p3"]

    def test_lost_connections_neither_lose_nor_repeat(
        self, scene: Scene, timelines: Timelines, proxy: LossyProxy
    ) -> None:
        scene.follow("ada")
        view = TimelineView()
        with Timelines(proxy.address, security=Plaintext()) as distant, distant.subscribe(scene.reader) as subscription:
            read_until_caught_up(subscription, view)
            for number in range(6):
                scene.post("ada", f"p{number}")
                if number % 2:
                    scene.delete("ada", f"p{number - 1}")
                else:
                    proxy.cut()
                expected = ids(timelines.get(scene.reader, consistency=scene.token))
                read_until(subscription, view, lambda expected=expected: ids(view) == expected)  # type: ignore[misc]
            assert ids(view) == ["p5", "p3", "p1"]
            assert proxy.cuts == 3

    def test_close_from_another_thread_ends_a_subscription(self, scene: Scene, timelines: Timelines) -> None:
        caught_up, told = threading.Event(), []
        subscription = timelines.subscribe(scene.reader)

        def listen() -> None:
            for change in subscription:
                told.append(change)
                caught_up.set()

        listener = threading.Thread(target=listen)
        listener.start()
        assert caught_up.wait(PATIENCE_S)
        subscription.close()
        listener.join(PATIENCE_S)
        assert not listener.is_alive()
        assert list(subscription) == []
