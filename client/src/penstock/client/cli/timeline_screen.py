"""A timeline on a screen that is drawn anew as it changes, from 30 columns and 6 lines up.

In:  the newest page, then changes.
Out: the terminal's alternate screen; when it ends, what was there before comes back, with the last posts below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo

from penstock.client.change import Added, Removed
from penstock.client.cli.timeline_text import one_line, post_lines
from penstock.client.post import Page, Post
from penstock.client.subscription import Disconnection
from penstock.client.timeline_view import TimelineView
from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

_PER_SECOND = 4
_LINES_PER_POST = 2
_LINES_BESIDES = 3  # title, state, and how many are below
_MARGIN = 2


@dataclass(frozen=True, slots=True)
class Scene:
    """What there is to see."""

    user: str
    posts: tuple[Post, ...]
    """Newest first."""
    new: frozenset[int] = frozenset()
    """Numbers of the posts that came while somebody watched."""
    came: int = 0
    went: int = 0
    refilling: bool = False
    lost: Disconnection | None = None


class ScreenDisplay:
    """Redraws four times a second at most, however much happens."""

    def __init__(self, console: Console, limit: int | None, zone: tzinfo | None = UTC) -> None:
        self._console, self._limit, self._zone = console, limit, zone
        self._scene = Scene("", ())

    @property
    def posts_wanted(self) -> int:
        room = posts_fitting(self._console.height)
        return room if self._limit is None else min(room, self._limit)

    @contextmanager
    def opened(self, user: str, page: Page) -> Iterator[None]:
        self._scene = Scene(user, page.posts, refilling=page.refilling)
        live = Live(console=self._console, screen=True, get_renderable=self._picture, refresh_per_second=_PER_SECOND)
        try:
            with live:
                yield
        finally:
            self._leave_behind()

    def told(self, change: Added | Removed, post: Post | None, view: TimelineView, *, older: bool) -> None:
        scene = replace(self._scene, posts=view.posts, lost=None)
        if post is not None and not older:
            added = isinstance(change, Added)
            held = {one.number for one in view.posts}
            new = (scene.new | {post.number} if added else scene.new) & held
            scene = replace(scene, new=new, came=scene.came + added, went=scene.went + (not added))
        self._scene = scene  # once and whole: another thread draws

    def caught_up(self, *, refilling: bool) -> None:
        self._scene = replace(self._scene, refilling=refilling, lost=None)

    def disconnected(self, lost: Disconnection) -> None:
        self._scene = replace(self._scene, lost=lost)

    def _picture(self) -> Group:
        return picture(self._scene, self._console.width, self._console.height, self._limit, self._zone)

    def _leave_behind(self) -> None:
        for post in self._scene.posts[: self.posts_wanted]:
            for line in post_lines(post, self._console.width, self._zone):
                self._console.print(line)


def posts_fitting(height: int) -> int:
    """How many posts there is room for; at least one."""
    return max(1, (height - _LINES_BESIDES) // _LINES_PER_POST)


def picture(scene: Scene, width: int, height: int, limit: int | None = None, zone: tzinfo | None = UTC) -> Group:
    """The whole screen."""
    room = posts_fitting(height)
    shown = scene.posts[: room if limit is None else min(room, limit)]
    lines = [_title(scene, width), _state(scene, width)]
    for post in shown:
        head, body = post_lines(post, width - _MARGIN, zone)
        mark = ("+ ", "bold green") if post.number in scene.new else " " * _MARGIN
        lines += [Text.assemble(mark, head), Text.assemble(" " * _MARGIN, body)]
    below = len(scene.posts) - len(shown)
    if below and limit is None:
        lines.append(_cut(Text(f"{'':{_MARGIN}}… {below:,} older", "dim"), width))
    return Group(*lines)


def _title(scene: Scene, width: int) -> Text:
    title, hint = f" timeline of {one_line(scene.user)} ", "Ctrl-C ends it"
    gap = width - cell_len(title) - cell_len(hint) - 1
    return _cut(Text.assemble((title, "bold reverse"), " " * gap, (hint if gap > 0 else "", "dim")), width)


def _state(scene: Scene, width: int) -> Text:
    if scene.lost is not None:
        said = f" reconnecting: {scene.lost.error.code}, attempt {scene.lost.attempts}"
        return _cut(Text.assemble((said, "yellow"), (f"  {one_line(str(scene.lost.error))}", "dim")), width)
    line = Text.assemble((" live", "green"), (f"  +{scene.came:,} −{scene.went:,}", "dim"))
    if scene.refilling:
        line.append("  refilling: older posts are on their way", "yellow")
    if not scene.posts:
        line.append("  empty", "yellow")
    return _cut(line, width)


def _cut(line: Text, width: int) -> Text:
    line.truncate(width, overflow="ellipsis")
    return line
