"""People post, delete, follow and unfollow, by events, each at a time of its own; what they should see meanwhile.

Whoever tells a story says when each thing happened, in seconds of the story, and tells it in any order. Events are
published as an app does it, and every check reads with the token of all that was published: nobody waits by hand.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping

from enrichment_stack import PATIENCE_S
from penstock.client import Page, PendingReceipt, Publisher, Reading, Timelines
from penstock.events.v1.event_pb2 import ConsistencyToken
from timeline_ledger import Change, timelines

SECOND_US = 1_000_000
LENGTH_S = 1800  # of a story; it ended before now


class Published:
    """What the conformance suite writes through; see TimelineTarget there."""

    def __init__(self, publisher: Publisher, address: str) -> None:
        self.address = address
        self._publisher = publisher
        self._last_us = time.time_ns() // 1000 - LENGTH_S * SECOND_US

    def post(self, author: str, post_id: str, attributes: Mapping[str, str], *, time_us: int) -> ConsistencyToken:
        return self.publish("post.created", {"author": author, "post_id": post_id, **attributes}, time_us)

    def delete_post(self, author: str, post_id: str) -> ConsistencyToken:
        return self.publish("post.deleted", {"author": author, "post_id": post_id}, self._later_us())

    def follow(self, follower: str, author: str) -> ConsistencyToken:
        return self.publish("follow.created", {"follower": follower, "author": author}, self._later_us())

    def unfollow(self, follower: str, author: str) -> ConsistencyToken:
        return self.publish("follow.deleted", {"follower": follower, "author": author}, self._later_us())

    def publish(self, kind: str, attributes: Mapping[str, str], time_us: int) -> ConsistencyToken:
        return token_of(self.send(kind, attributes, time_us))

    def send(self, kind: str, attributes: Mapping[str, str], time_us: int) -> PendingReceipt:
        return self._publisher.publish(kind, attributes, occurred=Reading(time_us))

    def _later_us(self) -> int:
        """After everything before: corrections of the clock are far smaller than this step."""
        self._last_us += SECOND_US
        return self._last_us


def token_of(pending: PendingReceipt) -> ConsistencyToken:
    receipt = pending.result(PATIENCE_S)
    assert receipt.delivered
    assert receipt.consistency is not None
    return receipt.consistency


class Story:
    """Names are of this story only; `at` are its seconds."""

    def __init__(self, target: Published, reading: Timelines, capacity: int) -> None:
        self._target, self._reading, self._capacity = target, reading, capacity
        self._begin_us = time.time_ns() // 1000 - 2 * LENGTH_S * SECOND_US
        self._unique = uuid.uuid4().hex[:8]
        self._changes: list[Change] = []
        self._pending: list[PendingReceipt] = []

    def name(self, name: str) -> str:
        return f"{name}-{self._unique}"

    def post(self, author: str, post_id: str, at: int) -> None:
        text = f"{post_id} at {at}"
        columns = {"author": self.name(author), "post_id": post_id, "text": text}
        self._tell("post.created", columns, at, "posts", (self.name(author), post_id), text)

    def delete(self, author: str, post_id: str, at: int) -> None:
        columns = {"author": self.name(author), "post_id": post_id}
        self._tell("post.deleted", columns, at, "posts", (self.name(author), post_id))

    def follow(self, follower: str, author: str, at: int) -> None:
        columns = {"follower": self.name(follower), "author": self.name(author)}
        self._tell("follow.created", columns, at, "follows", (self.name(follower), self.name(author)))

    def unfollow(self, follower: str, author: str, at: int) -> None:
        columns = {"follower": self.name(follower), "author": self.name(author)}
        self._tell("follow.deleted", columns, at, "follows", (self.name(follower), self.name(author)))

    @property
    def token(self) -> ConsistencyToken:
        """Of all that was told."""
        positions = [position for pending in self._pending for position in token_of(pending).positions]
        latest = {(one.topic, one.partition): one for one in sorted(positions, key=lambda one: one.offset)}
        return ConsistencyToken(positions=latest.values())

    def check(self, *users: str) -> list[str]:
        """They see what they should, at once; the ids that the last one sees, newest first."""
        names = [self.name(user) for user in users]
        pages = self._reading.get_many(names, consistency=self.token)
        for name, page in zip(names, pages, strict=True):
            assert texts(page) == self.expected(name), name
        return [post.id for post in pages[-1].posts]

    def expected(self, name: str) -> list[tuple[str, str]]:
        """Who and what, newest first."""
        shown = timelines(self._changes, self._capacity).get(name, ())
        return [(one.author, one.text) for one in shown]

    def _tell(
        self, kind: str, columns: Mapping[str, str], at: int, table: str, key: tuple[str, str], text: str = ""
    ) -> None:
        time_us = self._begin_us + at * SECOND_US
        self._pending.append(self._target.send(kind, columns, time_us))
        alive = kind.endswith(".created")
        self._changes.append(Change(time_us, len(self._changes).to_bytes(8, "big"), table, key, alive, text))


def texts(page: Page) -> list[tuple[str, str]]:
    return [(post.author, post.attributes["text"]) for post in page.posts]
