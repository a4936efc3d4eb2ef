from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.client.change import Added, Removed
from penstock.client.cli.timeline_screen import Scene, ScreenDisplay, picture, posts_fitting
from penstock.client.cursor import Cursor
from penstock.client.errors import TimelinesError
from penstock.client.post import Page, Post
from penstock.client.subscription import Disconnection
from penstock.client.timeline_view import TimelineView
from rich.console import Console, Group
from rich.text import Text

HERE = Cursor(b"")
LOST = Disconnection(TimelinesError("UNAVAILABLE", "the timeline service is away"), 3, 0.4)


def post(number: int, text: str = "Hello") -> Post:
    return Post(f"p{number}", "ada", number * 1_000_000, 0, {"text": text}, number, b"")


def posts(count: int) -> tuple[Post, ...]:
    return tuple(post(number) for number in range(count, 0, -1))


def page(count: int, *, refilling: bool = False) -> Page:
    return Page(posts(count), HERE, HERE, refilling, stale=False, applied=())


def shown(group: Group) -> list[str]:
    return [line.plain for line in group.renderables if isinstance(line, Text)]


def screen(width: int = 80, height: int = 24) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, height=height, soft_wrap=True)


def test_the_newest_posts_fill_the_screen() -> None:
    lines = shown(picture(Scene("bob", posts(9), frozenset({9}), came=1, went=2), 60, 12))
    assert lines[0] == " timeline of bob                             Ctrl-C ends it"
    assert lines[1] == " live  +1 −2"
    assert lines[2].startswith("+ 1970-01-01 00:00:09Z")
    assert lines[4].startswith("  1970-01-01 00:00:08Z")
    assert lines[-1] == "  … 5 older"
    assert len(lines) == 11


def test_a_limit_is_kept_and_what_is_beyond_it_is_no_news() -> None:
    lines = shown(picture(Scene("bob", posts(9)), 60, 24, limit=2))
    assert len(lines) == 6


def test_states() -> None:
    assert shown(picture(Scene("bob", (), refilling=True), 80, 24))[1:] == [
        " live  +0 −0  refilling: older posts are on their way  empty"
    ]
    assert shown(picture(Scene("bob", (), lost=LOST), 80, 24))[1:] == [
        " reconnecting: UNAVAILABLE, attempt 3  the timeline service is away"
    ]


@given(st.integers(10, 200), st.integers(1, 60), st.integers(0, 40), st.text(max_size=100))
def test_it_fits_any_terminal(width: int, height: int, count: int, user: str) -> None:
    scene = Scene(user, tuple(post(number, user) for number in range(count, 0, -1)), lost=LOST if count % 2 else None)
    lines = [line for line in picture(scene, width, height).renderables if isinstance(line, Text)]
    assert all(line.cell_len <= width for line in lines)
    assert len(lines) <= max(height, 5)
    assert 1 <= posts_fitting(height) <= max(1, height // 2)


def test_changes_are_counted_and_marked_but_not_what_is_only_older() -> None:
    display = ScreenDisplay(screen(), limit=None)
    view = TimelineView(posts(2))
    with display.opened("bob", page(2, refilling=True)):
        for change, older in [
            (Added(post(3), HERE), False),
            (Added(post(0), HERE), True),
            (Added(post(4), HERE), False),
        ]:
            display.told(change, view.apply(change), view, older=older)
        gone = Removed(3, "p3", "ada", HERE)
        display.told(gone, view.apply(gone), view, older=False)
        scene = display._scene
        assert [one.number for one in scene.posts] == [4, 2, 1, 0]
        assert (scene.new, scene.came, scene.went, scene.refilling) == (frozenset({4}), 2, 1, True)
        display.disconnected(LOST)
        assert shown(display._picture())[1].startswith(" reconnecting")
        display.caught_up(refilling=False)
        assert shown(display._picture())[1] == " live  +2 −1"


@pytest.mark.parametrize(("limit", "wanted"), [(None, 10), (3, 3), (99, 10)])
def test_room_for_posts(limit: int | None, wanted: int) -> None:
    assert ScreenDisplay(screen(height=24), limit).posts_wanted == wanted


def test_what_was_there_last_stays_behind() -> None:
    console = screen(height=7)
    display = ScreenDisplay(console, limit=None)
    with pytest.raises(KeyboardInterrupt), display.opened("bob", page(5)):
        raise KeyboardInterrupt
    written = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    _, _, after = written.rpartition("\x1b[?1049l")  # back from the alternate screen
    assert ("p5" in after, "p4" in after, "p3" in after) == (True, True, False)
