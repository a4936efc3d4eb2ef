"""From an event to everybody's timeline: ingestion, enrichment, the join, and the service in two replicas, by gRPC."""

from __future__ import annotations

import queue
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from enrichment_stack import PATIENT, WallOnly, until
from penstock.client import Change, Plaintext, Post, Publisher, Subscription, Timelines, TimelinesError, TimelineView
from penstock.client.testing.subscription_conformance import SubscriptionConformance
from penstock.client.testing.timeline_conformance import TimelineConformance, proxy, scene, timelines
from penstock.embedded.broker import Kafka
from penstock.embedded.services import Service, start_enrichment, start_ingestion
from timeline_stack import TimelineStack, asking, pipeline, settle, timeline_stack
from timeline_story import Published, Story

__all__ = ["proxy", "scene", "timelines"]

CAPACITY, SLACK, MANY = 10, 4, 3
PIPELINE = pipeline(capacity=CAPACITY, slack=SLACK, merge_at_read_above=MANY)
pytestmark = pytest.mark.timeout(600)


@dataclass(frozen=True)
class Way:
    """All of it."""

    stack: TimelineStack
    replicas: list[Service]
    publisher: Publisher
    reading: Timelines

    @property
    def target(self) -> Published:
        return Published(self.publisher, self.replicas[0].address)

    def story(self) -> Story:
        return Story(self.target, self.reading, CAPACITY)


@pytest.fixture(scope="module")
def way(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    prefix, folder = f"test-{uuid.uuid4().hex[:12]}-", tmp_path_factory.mktemp("way")
    with timeline_stack(kafka.bootstrap, prefix, PIPELINE, folder) as stack:
        ingestion = start_ingestion(stack.supervisor, kafka.bootstrap, environment=stack.environment)
        start_enrichment(stack.supervisor, kafka.bootstrap, environment=stack.environment)
        stack.start_join()
        replicas = stack.start_service(replicas=2)
        with (
            Publisher(
                ingestion.address, "phone", security=Plaintext(), clocks=WallOnly(), settings=PATIENT
            ) as publisher,
            asking(replicas[0]) as reading,
        ):
            way = Way(stack, replicas, publisher, reading)
            everybody_sees_something(way)
            yield way


def everybody_sees_something(way: Way) -> None:
    """So that no replica and no partition holds nothing."""
    story = way.story()
    story.post("seed", "p", 0)
    for number in range(64):
        story.follow(f"user-{number}", "seed", number)
    story.check("user-0", "user-63")


@pytest.fixture
def story(way: Way) -> Story:
    return way.story()


@pytest.fixture
def timeline_target(way: Way) -> Published:
    return way.target


class TestPages(TimelineConformance):
    pass


class TestSubscriptions(SubscriptionConformance):
    pass


def test_who_follows_sees_posts_and_who_does_not_does_not(story: Story) -> None:
    story.post("ada", "a1", 1)
    story.follow("eve", "ada", 2)
    assert story.check("eve") == ["a1"]
    story.post("ada", "a2", 3)
    story.post("bob", "b1", 4)
    assert story.check("eve") == ["a2", "a1"]
    story.follow("eve", "bob", 5)
    story.delete("ada", "a1", 6)
    assert story.check("eve") == ["b1", "a2"]
    story.unfollow("eve", "ada", 7)
    assert story.check("eve") == ["b1"]
    story.post("ada", "a3", 8)
    story.follow("eve", "ada", 9)
    assert story.check("eve", "ada") == []
    assert story.check("eve") == ["a3", "b1", "a2"]


def test_late_events_take_their_place(story: Story) -> None:
    story.follow("eve", "ada", 10)
    story.post("ada", "first", 20)
    story.post("ada", "third", 40)
    story.post("ada", "second", 30)
    assert story.check("eve") == ["third", "second", "first"]
    story.delete("ada", "never seen", 60)
    story.post("ada", "never seen", 50)
    story.unfollow("eve", "ada", 5)
    assert story.check("eve") == ["third", "second", "first"]
    story.post("ada", "first", 70)  # edited
    story.post("ada", "second", 25)  # as it was before, told last
    assert story.check("eve") == ["first", "third", "second"]
    story.follow("eve", "bob", 90)
    story.unfollow("eve", "bob", 91)
    story.post("bob", "b", 80)
    story.follow("eve", "bob", 85)
    assert story.check("eve") == ["first", "third", "second"]


def test_many_followers_make_no_difference_to_any_of_them(way: Way, story: Story) -> None:
    fans = [f"fan-{number}" for number in range(MANY + 3)]
    second = 0
    for round_ in range(2):
        for fan in fans:
            story.follow(fan, "star", second := second + 1)
            story.post("star", f"{round_}-up-{fan}", second := second + 1)
        story.delete("star", f"{round_}-up-fan-0", second := second + 1)
        story.delete("star", f"{round_}-up-fan-5", second := second + 1)
        story.check(*fans)
        for fan in fans[2:]:
            story.unfollow(fan, "star", second := second + 1)
            story.post("star", f"{round_}-down-{fan}", second := second + 1)
        story.check(*fans)
    story.follow("late fan", "star", second)
    story.check(*fans, "late fan")
    star = story.name("star")
    of_star = [author for one in way.stack.deliveries() for author in one.authors if author.author == star]
    assert {spread.outbox for author in of_star for spread in author.spread} == {True, False}


def test_posts_that_were_dropped_come_again_when_others_are_deleted(way: Way, story: Story) -> None:
    for author in ("ada", "bob", "star"):
        story.follow("eve", author, 1)
    for number in range(MANY + 1):
        story.follow(f"fan-{number}", "star", 1)
    story.check("eve")
    for number in range(2 * (CAPACITY + SLACK)):
        for place, author in enumerate(("ada", "bob", "star")):
            story.post(author, f"{author}-{number}", 10 + 3 * number + place)
    story.check("eve", "fan-0")
    asked = sum(1 for _ in way.stack.refill_requests())
    for number in range(CAPACITY + SLACK, 2 * (CAPACITY + SLACK)):
        for author in ("ada", "star"):
            story.delete(author, f"{author}-{number}", 500 + number)
    way.reading.get(story.name("eve"), consistency=story.token)
    for number in range(CAPACITY + SLACK, 2 * (CAPACITY + SLACK)):
        story.delete("bob", f"bob-{number}", 600 + number)
    way.reading.get(story.name("eve"), consistency=story.token)
    settle(way.replicas)
    assert sum(1 for _ in way.stack.refill_requests()) > asked
    assert len(story.check("fan-0", "eve")) == CAPACITY
    assert not way.reading.get(story.name("eve")).refilling


def test_whoever_writes_sees_it_at_once_on_every_replica(way: Way, story: Story) -> None:
    reader = story.name("reader")
    for number in range(4):
        author, post_id = story.name(f"author-{number}"), f"p{number}"
        way.publisher.publish("follow.created", {"follower": reader, "author": author})
        written = way.publisher.publish("post.created", {"author": author, "post_id": post_id})
        with asking(way.replicas[number % 2]) as timelines:
            page = timelines.get(reader, consistency=written.result(60).consistency)
        assert page.posts[0].id == post_id


def test_pages_fit_together_in_both_directions_while_posts_come_and_go(way: Way, story: Story) -> None:
    story.follow("eve", "ada", 0)
    for number in range(CAPACITY):
        story.post("ada", f"p{number}", 10 + 10 * number)
    story.check("eve")
    lasting = [f"p{number}" for number in range(CAPACITY - 1, 0, -1)]
    with changing(story, "ada"):
        for _ in range(15):
            down = older(way.reading, story.name("eve"))
            assert [post.id for post in down if post.id in lasting] == lasting
            up = newer(way.reading, story.name("eve"), down[-1])
            assert [post.id for post in up if post.id in lasting] == lasting[: len(lasting) - (down[-1].id in lasting)]
            for posts in (down, up):
                assert [post.order for post in posts] == sorted({post.order for post in posts}, reverse=True)
    story.check("eve")


@contextmanager
def changing(story: Story, author: str) -> Iterator[None]:
    """Meanwhile there is sometimes one more post, the newest of all, and sometimes one more, the oldest."""
    stop = threading.Event()

    def change() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            for post_id, at in ((f"new{number}", 200 + number % 100), (f"old{number}", number % 9)):
                story.post(author, post_id, at)
                story.delete(author, post_id, 1000)

    with ThreadPoolExecutor(1) as threads:
        changes = threads.submit(change)
        try:
            yield
        finally:
            stop.set()
        changes.result()


def older(timelines: Timelines, user: str) -> list[Post]:
    return [post for page in timelines.pages(user, limit=3) for post in page.posts]


def newer(timelines: Timelines, user: str, after: Post) -> list[Post]:
    """Newest first, as the other way."""
    cursor, posts = after.cursor, list[Post]()
    while (page := timelines.get(user, cursor=cursor, newer=True, limit=3)).posts:
        posts = [*page.posts, *posts]
        assert page.next is not None
        cursor = page.next
    return posts


def test_a_subscription_mirrors_the_timeline_while_the_service_dies_and_comes_back(way: Way, story: Story) -> None:
    """The service of the reader by kill -9, and the one that is asked in an orderly way, with all its calls."""
    story.follow("eve", "ada", 1)
    for number in range(CAPACITY // 2):
        story.post("ada", f"p{number}", 10 + number)
    story.check("eve")
    page = way.reading.get(story.name("eve"))
    view, told = TimelineView(page.posts), queue.SimpleQueue[Change]()

    def listen(subscription: Subscription) -> None:
        for change in subscription:
            told.put(change)

    def mirrors() -> bool:
        while not told.empty():
            view.apply(told.get())
        try:
            return view.posts == way.reading.get(story.name("eve"), consistency=story.token).posts
        except TimelinesError as error:
            if error.code == "UNAVAILABLE":  # one replica has not noticed yet that the other is back
                return False
            raise

    with ThreadPoolExecutor(1) as threads, way.reading.subscribe(story.name("eve"), page.live) as subscription:
        listening = threads.submit(listen, subscription)
        until(lambda: not told.empty())
        for number in range(CAPACITY // 2, 3 * CAPACITY):
            story.post("ada", f"p{number}", 10 + number)
            if number % 3 == 0:
                story.delete("ada", f"p{number - 1}", 100 + number)
            if number == CAPACITY:
                until(mirrors)
                way.stack.supervisor.kill(way.replicas[1].name)
                way.stack.supervisor.kill(way.replicas[0].name)
            if number == CAPACITY + 5:
                for replica in way.replicas:
                    way.stack.supervisor.restart(replica.name)
            if number == 2 * CAPACITY:
                for replica in way.replicas:
                    assert way.stack.supervisor.end(replica.name) == 0
                    way.stack.supervisor.restart(replica.name)
        until(mirrors)
        assert len(view) == CAPACITY
        subscription.close()
        listening.result()


def test_the_audit_finds_no_difference(way: Way) -> None:
    """In anything that the tests above have left behind."""
    audited = way.stack.audit(way.replicas[0].address)
    assert (audited.code, audited.report.get("differences")) == (0, 0), (audited.report, audited.errors[-3000:])
