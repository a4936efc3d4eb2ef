"""What every timeline service owes whoever asks it for pages, and the reverse.

Subclass `TimelineConformance`, and `SubscriptionConformance` of the module beside this one, in a test module and define
there a fixture `timeline_target`: the fake in this package, or a real service behind a whole pipeline. The suite needs
of a target an address, and four ways to write; every test uses names of its own, so that a target may be shared. Where
writes take seconds to arrive, so does the suite.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from penstock.client import (
    Page,
    PageQuery,
    Plaintext,
    Timelines,
    TimelinesError,
    TimelineView,
)
from penstock.client.testing.proxy import LossyProxy
from penstock.client.testing.timeline_scene import Scene, TimelineTarget
from penstock.events.v1.event_pb2 import ConsistencyToken, Position

PATIENCE_S = 60.0


@pytest.fixture
def scene(timeline_target: TimelineTarget) -> Scene:
    return Scene(timeline_target)


@pytest.fixture
def timelines(timeline_target: TimelineTarget) -> Iterator[Timelines]:
    with Timelines(timeline_target.address, security=Plaintext(), timeout_s=PATIENCE_S) as timelines:
        yield timelines


@pytest.fixture
def proxy(timeline_target: TimelineTarget) -> Iterator[LossyProxy]:
    with LossyProxy(timeline_target.address) as proxy:
        yield proxy


def ids(posts: Page | TimelineView) -> list[str]:
    """Newest first."""
    return [post.id for post in posts.posts]


class TimelineConformance:
    """The suite. Import the fixtures of this module along with it."""

    def test_a_timeline_is_the_live_posts_of_those_who_are_followed(self, scene: Scene, timelines: Timelines) -> None:
        for post_id in ("a1", "b1", "a2", "c1", "d1", "a3"):
            scene.post({"a": "ada", "b": "bob", "c": "cyd", "d": "dan"}[post_id[0]], post_id)
        scene.follow("ada", "bob", "dan")
        scene.delete("ada", "a2")
        scene.unfollow("dan")
        page = timelines.get(scene.reader, consistency=scene.token)
        assert ids(page) == ["a3", "b1", "a1"]
        assert [post.author for post in page.posts] == [scene.name(name) for name in ("ada", "bob", "ada")]
        assert page.posts[0].attributes["text"] == "This is a3"
        assert page.posts[0].time_us > page.posts[1].time_us > page.posts[2].time_us
        assert (page.next, page.stale, page.refilling) == (None, False, False)
        assert page.live is not None
        assert page.applied

    def test_a_user_that_nobody_knows_has_an_empty_timeline(self, scene: Scene, timelines: Timelines) -> None:
        page = timelines.get(scene.name("nobody"))
        assert (page.posts, page.next) == ((), None)
        assert page.live is not None

    def test_the_same_id_of_two_authors_is_two_posts(self, scene: Scene, timelines: Timelines) -> None:
        scene.follow("ada", "bob")
        for author in ("ada", "bob"):
            scene.post(author, "p1")
        scene.delete("ada", "p1")
        page = timelines.get(scene.reader, consistency=scene.token)
        assert [(post.author, post.id) for post in page.posts] == [(scene.name("bob"), "p1")]

    def test_a_post_that_is_written_again_moves(self, scene: Scene, timelines: Timelines) -> None:
        scene.follow("ada")
        for post_id in ("p1", "p2", "p3"):
            scene.post("ada", post_id)
        scene.post("ada", "p2", second=10)
        assert ids(timelines.get(scene.reader, consistency=scene.token)) == ["p2", "p3", "p1"]

    def test_pages_fit_together_in_both_directions(self, scene: Scene, timelines: Timelines) -> None:
        scene.follow("ada")
        for number in range(7):
            scene.post("ada", f"p{number}")
        pages = [ids(page) for page in timelines.pages(scene.reader, limit=3, consistency=scene.token)]
        assert pages == [["p6", "p5", "p4"], ["p3", "p2", "p1"], ["p0"]]
        oldest = timelines.get(scene.reader).posts[-1]
        newer = timelines.get(scene.reader, cursor=oldest.cursor, newer=True, limit=4)
        assert ids(newer) == ["p4", "p3", "p2", "p1"]
        newest = timelines.get(scene.reader, cursor=newer.next, newer=True, limit=4)
        assert ids(newest) == ["p6", "p5"]
        nothing_newer = timelines.get(scene.reader, cursor=newest.next, newer=True, limit=4)
        assert (nothing_newer.posts, nothing_newer.next) == ((), newest.next)

    def test_pages_are_stable_while_posts_come_and_go(self, scene: Scene, timelines: Timelines) -> None:
        scene.follow("ada")
        for number in range(6):
            scene.post("ada", f"p{number}")
        first = timelines.get(scene.reader, limit=3, consistency=scene.token)
        scene.post("ada", "p6")
        scene.delete("ada", "p3")  # the very post that the cursor names
        second = timelines.get(scene.reader, limit=3, cursor=first.next, consistency=scene.token)
        assert (ids(first), ids(second)) == (["p5", "p4", "p3"], ["p2", "p1", "p0"])

    def test_many_timelines_in_the_order_asked(self, scene: Scene, timelines: Timelines) -> None:
        scene.follow("ada")
        for post_id in ("p1", "p2"):
            scene.post("ada", post_id)
        queries: list[str | PageQuery] = [scene.name("nobody"), PageQuery(scene.reader, limit=1), scene.reader]
        pages = timelines.get_many(queries, consistency=scene.token)
        assert [ids(page) for page in pages] == [[], ["p2"], ["p2", "p1"]]

    def test_what_makes_no_sense_is_said(self, scene: Scene, timelines: Timelines) -> None:
        foreign = ConsistencyToken(positions=[Position(topic="no.such.topic", partition=0, offset=1)])
        with pytest.raises(TimelinesError) as error:
            timelines.get(scene.reader, consistency=foreign)
        assert error.value.code == "INVALID_ARGUMENT"
        assert "no.such.topic" in str(error.value)
        scene.follow("ada")
        scene.post("ada", "p1")
        whole = timelines.get(scene.reader, consistency=scene.token).live
        for cursor, limit in ((whole, None), (None, 1 << 30)):
            with pytest.raises(TimelinesError) as error:
                timelines.get(scene.reader, cursor=cursor, limit=limit)
            assert error.value.code == "INVALID_ARGUMENT"

    def test_the_service_describes_what_it_holds(self, scene: Scene, timelines: Timelines) -> None:
        scene.follow("ada")
        scene.post("ada", "p1")
        timelines.get(scene.reader, consistency=scene.token)
        state = timelines.describe()
        assert (state.capacity > 0, state.partitions_total > 0, state.content_hash) == (True, True, None)
        assert sum(held.entries for held in state.partitions) > 0
        hashed = timelines.describe(with_hash=True)
        assert [held.number for held in hashed.partitions] == [held.number for held in state.partitions]
        assert hashed.content_hash is not None
        assert len(hashed.content_hash) == 16
