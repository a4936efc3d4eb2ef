"""The part of a timeline that a reader holds, kept up to date by changes. Pure.

In:  the posts of a page, then the changes of a subscription that began at its `live` cursor.
Out: the posts, newest first.
Guaranteed: after every change it holds exactly what the cursor of that change says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.client.change import Added, CaughtUp, Change
from penstock.client.post import Post


class TimelineView:
    """Starts with the posts of a page, or with nothing. For one thread at a time."""

    def __init__(self, posts: Iterable[Post] = ()) -> None:
        self._by_number = {post.number: post for post in posts}
        self._sorted: tuple[Post, ...] | None = None

    def apply(self, change: Change) -> Post | None:
        """Takes a change in; the post that came or went, or None where nothing did."""
        if isinstance(change, CaughtUp):
            return None
        self._sorted = None
        if isinstance(change, Added):
            self._by_number[change.post.number] = change.post
            return change.post
        return self._by_number.pop(change.number, None)

    @property
    def posts(self) -> tuple[Post, ...]:
        """Newest first."""
        if self._sorted is None:
            self._sorted = tuple(sorted(self._by_number.values(), key=lambda post: post.order, reverse=True))
        return self._sorted

    def __iter__(self) -> Iterator[Post]:
        return iter(self.posts)

    def __len__(self) -> int:
        return len(self._by_number)
