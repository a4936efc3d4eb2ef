"""--follow for programs, and when the screen asks for older posts."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

import pytest
from penstock.client import (
    Added,
    Disconnection,
    Page,
    Plaintext,
    Post,
    Removed,
    Timelines,
    TimelinesError,
    TimelineView,
)
from penstock.client.cli.timeline_following import LineDisplay, follow
from penstock.client.cursor import Cursor
from penstock.client.testing import FakeTimelines
from rich.console import Console

HERE = Cursor(b"")


class Enough(Exception):
    """The test has seen what it wanted."""


class Recorder:
    """A display of so many posts that keeps what it was told, and has something done whenever all is told."""

    def __init__(self, posts_wanted: int, *deeds: Callable[[], object], until: str = "") -> None:
        self.posts_wanted = posts_wanted
        self._until = until
        self.told_posts: list[str] = []
        self.refilling: list[bool] = []
        self.view: list[str] = []
        self._deeds: Iterator[Callable[[], object]] = iter(deeds)

    def opened(self, user: str, page: Page) -> AbstractContextManager[object]:
        return nullcontext()

    def told(self, change: Added | Removed, post: Post | None, view: TimelineView, *, older: bool) -> None:
        assert post is not None
        self.told_posts.append(f"{'+' if isinstance(change, Added) else '-'}{post.id}{' older' if older else ''}")
        self.view = [one.id for one in view]

    def caught_up(self, *, refilling: bool) -> None:
        self.refilling.append(refilling)
        for deed in self._deeds:
            deed()
            return
        if not self._until or self._until in self.told_posts:
            raise Enough

    def disconnected(self, lost: Disconnection) -> None: ...


@pytest.fixture
def quick() -> Iterator[FakeTimelines]:
    with FakeTimelines(heartbeat_s=0.05) as fake:
        fake.follow("bob", "ada")
        for number in range(6):
            fake.post("ada", f"p{number}", time_us=number)
        yield fake


@pytest.fixture
def timelines(quick: FakeTimelines) -> Iterator[Timelines]:
    with Timelines(quick.address, security=Plaintext()) as timelines:
        yield timelines


def test_room_on_the_screen_is_filled_with_older_posts(quick: FakeTimelines, timelines: Timelines) -> None:
    deeds = (lambda: quick.delete_post("ada", "p4"), lambda: quick.delete_post("ada", "p5"))
    recorder = Recorder(2, *deeds, until="+p2 older")
    with pytest.raises(Enough):
        follow(timelines, "bob", timelines.get("bob", limit=3), recorder)
    older = [f"+p{number} older" for number in range(3)]
    assert [told for told in recorder.told_posts if "older" in told] == older
    assert [told for told in recorder.told_posts if "older" not in told] == ["-p4", "-p5"]
    assert recorder.view == ["p3", "p2", "p1", "p0"]


def test_a_timeline_that_is_shown_whole_has_nothing_older(quick: FakeTimelines, timelines: Timelines) -> None:
    recorder = Recorder(99, lambda: quick.delete_post("ada", "p4"), until="-p4")
    with pytest.raises(Enough):
        follow(timelines, "bob", timelines.get("bob"), recorder)
    assert recorder.told_posts == ["-p4"]
    assert len(quick.subscribed) == 1


def test_a_refill_is_noticed_when_it_begins_and_ends(quick: FakeTimelines, timelines: Timelines) -> None:
    recorder = Recorder(0, lambda: quick.refilling.add("bob"), lambda: quick.refilling.discard("bob"))
    with pytest.raises(Enough):
        follow(timelines, "bob", timelines.get("bob"), recorder)
    assert recorder.refilling == [False, True, False]


def displayed(*, as_json: bool = False) -> tuple[LineDisplay, io.StringIO, io.StringIO]:
    out, notices = io.StringIO(), io.StringIO()
    return LineDisplay(Console(file=out), Console(file=notices, width=200), as_json=as_json), out, notices


def post(number: int) -> Post:
    return Post(f"p{number}", "ada", number * 1_000_000, None, {"text": f"a\tb {number}"}, number, b"")


PAGE = Page((post(2), post(1)), HERE, HERE, refilling=False, stale=False, applied=())
STORY = (Added(post(3), HERE), Removed(2, "", "", HERE), Removed(99, "", "", HERE))


def tell(display: LineDisplay) -> None:
    view = TimelineView(PAGE.posts)
    with display.opened("bob", PAGE):
        for change in STORY:
            display.told(change, view.apply(change), view, older=False)


def test_lines_begin_with_what_is_there_and_go_on_with_what_changes() -> None:
    display, out, notices = displayed()
    tell(display)
    cells = [line.split("\t") for line in out.getvalue().splitlines()]
    assert [(line[0], line[4], line[5]) for line in cells] == [
        ("+", "p1", r"a\tb 1"),
        ("+", "p2", r"a\tb 2"),
        ("+", "p3", r"a\tb 3"),
        ("-", "p2", r"a\tb 2"),
    ]
    assert notices.getvalue() == ""


def test_objects_do_the_same() -> None:
    display, out, _ = displayed(as_json=True)
    tell(display)
    page, added, removed = (json.loads(line) for line in out.getvalue().splitlines())
    assert (page["change"], [one["id"] for one in page["posts"]]) == ("page", ["p2", "p1"])
    assert (added["change"], added["id"], added["attributes"]) == ("added", "p3", {"text": "a\tb 3"})
    assert (removed["change"], removed["id"], removed["author"]) == ("removed", "p2", "ada")


def test_reconnecting_is_said_once_and_so_is_its_end() -> None:
    display, _, notices = displayed()
    error = TimelinesError("UNAVAILABLE", "away")
    display.disconnected(Disconnection(error, 1, 0.1))
    display.caught_up(refilling=False)
    assert notices.getvalue() == ""
    for attempt in (1, 2, 3, 4):
        display.disconnected(Disconnection(error, attempt, 0.1))
    display.caught_up(refilling=False)
    display.caught_up(refilling=False)
    assert notices.getvalue().splitlines() == ["penstock: reconnecting: away", "penstock: connected again"]
