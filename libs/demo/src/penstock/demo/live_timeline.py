"""One user's timeline as it changes: what is in it, what has just come, what has just gone.

In:  the changes that a subscription tells. Out: the newest posts, each with what became of it.
What came is new, and what went is still shown, for a moment: otherwise nobody would see it happen.
"""

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from penstock.client import Added, Change, Post, Timelines, TimelineView

NEW_US = 1_500_000
GONE_US = 2_000_000
_GONE_MAX = 100


class State(Enum):
    THERE = "there"
    NEW = "new"
    GONE = "gone"


class Line(NamedTuple):
    post: Post
    state: State


class LiveTimeline:
    """Pure."""

    def __init__(self, user: str) -> None:
        self.user = user
        self.came = self.went = 0
        self._view = TimelineView()
        self._came_us: dict[int, int] = {}
        self._gone: dict[int, tuple[Post, int]] = {}

    def take(self, change: Change, now_us: int) -> None:
        post = self._view.apply(change)
        if post is None:
            return
        if isinstance(change, Added):
            self.came += 1
            self._came_us[post.number] = now_us
            self._gone.pop(post.number, None)
        else:
            self.went += 1
            self._came_us.pop(post.number, None)
            self._gone[post.number] = post, now_us
        self._forget(now_us)

    @property
    def top(self) -> Post | None:
        """The newest."""
        return self._view.posts[0] if len(self._view) else None

    def newest(self, most: int, now_us: int) -> list[Line]:
        """The newest first, with what has just gone."""
        self._forget(now_us)
        shown = [Line(post, self._state(post)) for post in self._view.posts[:most]]
        shown += [Line(post, State.GONE) for post, _ in self._gone.values()]
        return sorted(shown, key=lambda line: line.post.order, reverse=True)[:most]

    def _state(self, post: Post) -> State:
        return State.NEW if post.number in self._came_us else State.THERE

    def _forget(self, now_us: int) -> None:
        self._came_us = {number: at_us for number, at_us in self._came_us.items() if now_us - at_us < NEW_US}
        recent = [(number, gone) for number, gone in self._gone.items() if now_us - gone[1] < GONE_US]
        self._gone = dict(recent[-_GONE_MAX:])

    def __len__(self) -> int:
        return len(self._view)


async def watch(timelines: Timelines, user: str, take: Callable[[Change], object]) -> None:
    """All of a timeline, and then what changes, until the task is cancelled."""
    with timelines.subscribe(user) as subscription:
        while (change := await asyncio.to_thread(next, subscription, None)) is not None:
            take(change)
