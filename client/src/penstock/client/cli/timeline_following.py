"""`penstock timeline --follow`: a timeline as it changes, until somebody has seen enough.

In:  the newest page, then the changes of a subscription that begins where the page ends.
Out: what a display makes of them: lines for programs here, a screen for people in `timeline_screen`.
"""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, tzinfo
from typing import Protocol

from penstock.client.change import Added, CaughtUp, Removed
from penstock.client.cli import screen
from penstock.client.cli.timeline_text import page_fields, post_cells, post_fields
from penstock.client.errors import TimelinesError
from penstock.client.post import Page, Post
from penstock.client.subscription import Disconnection
from penstock.client.timeline_view import TimelineView
from penstock.client.timelines import Timelines
from rich.console import Console


class Display(Protocol):
    """Who shows it. All is called by one thread."""

    @property
    def posts_wanted(self) -> int:
        """How many posts there is room for. While there are fewer, older ones are asked for."""

    def opened(self, user: str, page: Page) -> AbstractContextManager[object]:
        """Shows the page; until the context ends."""

    def told(self, change: Added | Removed, post: Post | None, view: TimelineView, *, older: bool) -> None:
        """A change, and the post that came or went. `older`: it is not news, it was only not asked for before."""

    def caught_up(self, *, refilling: bool) -> None:
        """All is told so far; whether older posts are on their way."""

    def disconnected(self, lost: Disconnection) -> None: ...


def follow(timelines: Timelines, user: str, page: Page, display: Display) -> None:
    """For ever, unless something is wrong that time does not mend."""
    view, cursor = TimelineView(page.posts), page.live
    whole, older = page.next is None, False
    with display.opened(user, page):
        while True:
            with timelines.subscribe(user, cursor, on_disconnected=display.disconnected) as subscription:
                for change in subscription:
                    if isinstance(change, CaughtUp):
                        older = False
                        _say_caught_up(timelines, user, display)
                    else:
                        display.told(change, view.apply(change), view, older=older)
                    if not whole and len(view) < display.posts_wanted:
                        # Removals left room on the screen, and there are older posts.
                        cursor, whole, older = change.cursor.for_all(), True, True
                        break


def _say_caught_up(timelines: Timelines, user: str, display: Display) -> None:
    with suppress(TimelinesError):  # whatever it is, the subscription will notice
        display.caught_up(refilling=timelines.get(user, limit=1).refilling)


class LineDisplay:
    """A line per post that comes (+) or goes (-), with tabs between cells; the page is what comes first."""

    posts_wanted = 0

    def __init__(self, out: Console, notices: Console, zone: tzinfo | None = UTC, *, as_json: bool = False) -> None:
        self._out, self._notices, self._zone, self._as_json = out, notices, zone, as_json
        self._lost = False

    def opened(self, user: str, page: Page) -> AbstractContextManager[object]:
        if self._as_json:
            screen.write_line(self._out, json.dumps({"change": "page", **page_fields(user, page)}))
        else:
            for post in reversed(page.posts):
                self._line("+", post)
        return nullcontext()

    def told(self, change: Added | Removed, post: Post | None, view: TimelineView, *, older: bool) -> None:  # noqa: ARG002 (others need them)
        self._back()
        if post is None:  # a removal of what was never told
            return
        if self._as_json:
            kind = "added" if isinstance(change, Added) else "removed"
            screen.write_line(self._out, json.dumps({"change": kind, **post_fields(post)}))
        else:
            self._line("+" if isinstance(change, Added) else "-", post)

    def caught_up(self, *, refilling: bool) -> None:  # noqa: ARG002 (a line is a post that came or went)
        self._back()

    def disconnected(self, lost: Disconnection) -> None:
        # The first attempt comes at once and is routine: servers renew their connections.
        if lost.attempts == 2:
            self._notices.print(f"penstock: reconnecting: {lost.error}", style="yellow", markup=False)
            self._lost = True

    def _back(self) -> None:
        if self._lost:
            self._notices.print("penstock: connected again", style="green")
        self._lost = False

    def _line(self, sign: str, post: Post) -> None:
        screen.write_line(self._out, "\t".join((sign, *post_cells(post, self._zone))))
