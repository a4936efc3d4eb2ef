"""Writes to timelines as a log, of which readers see what is applied.

In:  writes, each a record of timeline.deliveries.v1, partition 0; `hold` lets them wait.
Out: positions and tokens; whoever waits for `changed` learns of everything that happens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import grpc
from penstock.client.testing.timeline_model import TimelineModel
from penstock.events.v1.event_pb2 import ConsistencyToken, Position

TOPIC = "timeline.deliveries.v1"
# What the real service follows through the pipeline; here it is taken for reflected, unless writes wait.
UPSTREAM = frozenset({"events.raw.v1", "tables.posts.v1", "tables.follows.v1"})


class TimelineLog:
    """Everything that the fake's threads share; to be read with `changed` held."""

    def __init__(self, capacity: int) -> None:
        self.model = TimelineModel(capacity)
        self.changed = threading.Condition()
        self.written = 0
        self.applied = 0
        self.cuts: list[tuple[grpc.StatusCode, str]] = []
        """How subscriptions were ended, time after time."""
        self._waiting: list[Callable[[], object]] | None = None

    def write(self, apply: Callable[[], object]) -> ConsistencyToken:
        """Appends; the token makes a read see it."""
        with self.changed:
            offset = self.written
            self.written += 1
            if self._waiting is not None:
                self._waiting.append(apply)
            else:
                apply()
                self.applied = self.written
                self.changed.notify_all()
        return ConsistencyToken(positions=[Position(topic=TOPIC, partition=0, offset=offset)])

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Applies nothing meanwhile."""
        with self.changed:
            self._waiting = []
        try:
            yield
        finally:
            with self.changed:
                for apply in self._waiting:
                    apply()
                self._waiting, self.applied = None, self.written
                self.changed.notify_all()

    def cut(self, code: grpc.StatusCode, detail: str) -> None:
        """Ends the subscriptions that are under way."""
        with self.changed:
            self.cuts.append((code, detail))
            self.changed.notify_all()

    def wake(self) -> None:
        """Lets everybody look again."""
        with self.changed:
            self.changed.notify_all()

    def positions(self) -> list[Position]:
        """The newest record that is applied."""
        return [Position(topic=TOPIC, partition=0, offset=self.applied - 1)] if self.applied else []

    def reflects(self, token: ConsistencyToken) -> bool:
        """All that the token names is applied."""
        flows = self._waiting is None
        return all(place.offset < self.applied if place.topic == TOPIC else flows for place in token.positions)
