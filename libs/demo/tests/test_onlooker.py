from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from penstock.demo.onlooker import look_around


@dataclass
class Clock:
    """Over after a minute; whoever waits does not."""

    us: int = 0

    @property
    def is_over(self) -> bool:
        return self.us >= 60_000_000

    def now_us(self) -> int:
        return self.us

    async def wait_us(self, span_us: int) -> None:
        self.us += span_us

    async def rest_us(self, span_us: int) -> None:
        self.us += span_us


@dataclass
class Followed:
    """Who is followed by the one that publishes here."""

    now: set[str] = field(default_factory=set)
    came: int = 0
    went: int = 0

    async def publish(self, event_type: str, /, attributes: Mapping[str, str]) -> object:
        author = attributes["author"]
        assert attributes["follower"] == "you"
        if event_type == "follow.created":
            assert author not in self.now
            self.now.add(author)
            self.came += 1
        else:
            self.now.remove(author)
            self.went += 1
        return None


async def test_authors_come_and_go_and_some_stay() -> None:
    followed = Followed()
    await look_around(followed, Clock(), Random(1), lambda: [f"u{number}" for number in range(1, 101)])
    assert {"u1", "u9", "u41"} <= followed.now
    assert followed.went >= 3
    assert followed.came - 3 - followed.went in (0, 1)


async def test_where_there_is_only_one_author_it_is_followed_once() -> None:
    followed = Followed()
    await look_around(followed, Clock(), Random(1), lambda: ["u1"])
    assert (followed.now, followed.came, followed.went) == ({"u1"}, 1, 0)
