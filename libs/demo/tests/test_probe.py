from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from penstock.client import Added, CaughtUp, Cursor, Post
from penstock.demo.probe import PATIENCE_US, Probe

CURSOR = Cursor(b"")


@dataclass
class Clock:
    """A steady clock, and a time that is over after so many seconds; whoever waits does not."""

    lasts_us: int = 10_000_000
    us: int = 0

    @property
    def is_over(self) -> bool:
        return self.us >= self.lasts_us

    def now_us(self) -> int:
        return self.us

    async def wait_us(self, span_us: int) -> None:
        self.us += span_us

    async def rest_us(self, span_us: int) -> None:
        self.us += span_us


@dataclass
class Posting:
    """Remembers what is published; `then` is told of posts."""

    then: Callable[[str], object] = lambda _: None
    published: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)

    async def publish(self, event_type: str, /, attributes: Mapping[str, str]) -> object:
        self.published.append((event_type, attributes))
        if event_type == "post.created":
            self.then(attributes["post_id"])
        return None


def added(post_id: str) -> Added:
    return Added(Post(post_id, "probe", 0, None, {}, 1, b""), CURSOR)


async def test_a_post_is_published_every_second_or_so_and_its_way_is_timed() -> None:
    clock = Clock()
    probe = Probe(clock.now_us)

    def seen(post_id: str) -> None:
        clock.us += 1_200
        probe.take(added(post_id))

    publisher = Posting(seen)
    await probe.publish(publisher, clock, Random(1))
    assert publisher.published[0] == ("follow.created", {"follower": "probe-reader", "author": "probe"})
    assert 6 < probe.latency_us.count < 17
    assert set(probe.newest_us) == {1_200}
    assert (probe.under_way, probe.given_up) == (0, 0)


async def test_what_was_not_seen_is_under_way_and_given_up_in_the_end() -> None:
    clock = Clock(lasts_us=2 * PATIENCE_US)
    probe = Probe(clock.now_us)
    await probe.publish(Posting(), clock, Random(1))
    assert 0 < probe.under_way <= PATIENCE_US // 600_000
    assert probe.given_up > 0
    assert probe.latency_us.count == 0


def test_what_somebody_else_posted_is_not_timed() -> None:
    probe = Probe()
    probe.take(added("p1"))
    probe.take(CaughtUp(CURSOR))
    assert probe.latency_us.count == 0
