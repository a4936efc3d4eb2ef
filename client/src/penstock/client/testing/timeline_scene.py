"""A reader and some authors of one test, on any timeline service.

In:  posts, deletions, follows and unfollows by short names.
Out: the same under names that only this test uses, so that a target may be shared; the token of all of them.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import Protocol

from penstock.events.v1.event_pb2 import ConsistencyToken, Position

SECOND_US = 1_000_000


class TimelineTarget(Protocol):
    """A timeline service under test. Every write answers with the token that makes a read see it."""

    @property
    def address(self) -> str: ...

    def post(self, author: str, post_id: str, attributes: Mapping[str, str], *, time_us: int) -> ConsistencyToken:
        """Dated about then. The suite's times are in the past and a second or more apart."""

    def delete_post(self, author: str, post_id: str) -> ConsistencyToken: ...

    def follow(self, follower: str, author: str) -> ConsistencyToken: ...

    def unfollow(self, follower: str, author: str) -> ConsistencyToken: ...


class Scene:
    """A reader and the authors of one test, and everything that was written so far."""

    def __init__(self, target: TimelineTarget) -> None:
        self._target = target
        self._unique = uuid.uuid4().hex[:8]
        self._start_us = time.time_ns() // 1000 - 3600 * SECOND_US
        self._posts = 0
        self._latest: dict[tuple[str, int], int] = {}
        self.reader = self.name("reader")

    def name(self, name: str) -> str:
        """Of this test only."""
        return f"{name}-{self._unique}"

    def post(self, author: str, post_id: str, *, second: int | None = None) -> None:
        """A second after the post before it, unless told otherwise."""
        self._posts += 1
        time_us = self._start_us + (self._posts if second is None else second) * SECOND_US
        self._note(self._target.post(self.name(author), post_id, {"text": f"This is {post_id}"}, time_us=time_us))

    def delete(self, author: str, post_id: str) -> None:
        self._note(self._target.delete_post(self.name(author), post_id))

    def follow(self, *authors: str) -> None:
        for author in authors:
            self._note(self._target.follow(self.reader, self.name(author)))

    def unfollow(self, author: str) -> None:
        self._note(self._target.unfollow(self.reader, self.name(author)))

    @property
    def token(self) -> ConsistencyToken:
        """Of all that was written."""
        return ConsistencyToken(
            positions=[Position(topic=topic, partition=part, offset=at) for (topic, part), at in self._latest.items()]
        )

    def _note(self, token: ConsistencyToken) -> None:
        for place in token.positions:
            at = place.topic, place.partition
            self._latest[at] = max(place.offset, self._latest.get(at, 0))
