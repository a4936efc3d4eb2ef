"""Subscriptions: tells each reader what changes, at its own pace.

In:  users whose timelines may have changed (from the applier), and readers with what they hold.
Out: differences between what a reader holds and its timeline, told until they are the same; then the next.
Guaranteed: no gap and no repetition, because it is the difference that is told and not a history. Changes that come
while a reader is busy become one difference. Memory per reader is bounded; one that does not take what it is sent while
its timeline goes on is ended, and can resume.
In the event loop's thread.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any

from penstock.serving.errors import ServiceError
from penstock.timelines import pages
from penstock.timelines.difference import Changes, Reader
from penstock.timelines.errors import Away, Full, TooSlow
from penstock.timelines.held import Held
from penstock.timelines.metrics import Metrics

Write = Callable[[bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Rules:
    """Limits of subscriptions."""

    subscribers_max: int
    queue: int  # changes of its timeline while a reader does not take a message
    heartbeat_s: float
    age_max_s: float


@dataclass(eq=False)
class Stream:
    """A call under way. `ended_by`: why we ended it, if we did."""

    task: asyncio.Task[None] | None = None
    ended_by: ServiceError | None = None

    def end(self, reason: ServiceError) -> None:
        if self.ended_by is None and self.task is not None:
            self.ended_by = reason
            self.task.cancel()


@dataclass(eq=False)
class Subscriber(Stream):
    """One that is told about a timeline of ours."""

    is_dirty: asyncio.Event = field(default_factory=asyncio.Event)
    is_writing: bool = False
    behind: int = 0  # changes since it began to take a message


class Subscriptions:
    def __init__(self, rules: Rules, metrics: Metrics) -> None:
        self._rules = rules
        self._metrics = metrics
        self._streams: set[Stream] = set()
        self._by_user: defaultdict[int, set[Subscriber]] = defaultdict(set)
        self._turn = asyncio.Lock()
        self._is_draining = False
        told = metrics.changes_told
        self._told = {name: told.labels(name) for name in ("added", "removed", "heartbeat")}

    def wake(self, changed: Iterable[int]) -> None:
        """The timelines of these users may have changed."""
        for user in changed:
            for subscriber in self._by_user.get(user, ()):
                subscriber.is_dirty.set()
                if subscriber.is_writing:
                    subscriber.behind += 1
                    if subscriber.behind > self._rules.queue:
                        self._cut(subscriber)

    def drain(self) -> None:
        """Ends all, and takes no others."""
        self._is_draining = True
        for stream in self._streams:
            stream.end(_leaving())

    async def run(self, stream: Stream, telling: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Tells until the caller hangs up or we end it, which raises why. Takes a place among the subscribers."""
        if self._is_draining:
            raise _leaving()
        if len(self._streams) >= self._rules.subscribers_max:
            raise Full(
                f"{len(self._streams)} subscriptions are under way, which is all that this replica takes;"
                " try again later, or read pages (SUBSCRIBERS_MAX is the setting)",
                retry_after_ms=5_000,
            )
        self._streams.add(stream)
        self._metrics.subscribers.set(len(self._streams))
        stream.task = asyncio.create_task(telling())
        ageing = asyncio.get_running_loop().call_later(self._rules.age_max_s, stream.end, _renewing())
        try:
            await stream.task
        except asyncio.CancelledError:
            if stream.ended_by is None:
                raise
            raise stream.ended_by from None
        finally:
            ageing.cancel()
            stream.task.cancel()
            self._streams.discard(stream)
            self._metrics.subscribers.set(len(self._streams))

    async def tell(self, subscriber: Subscriber, held: Held, user: int, reader: Reader, write: Write) -> None:
        """For ever."""
        self._by_user[user].add(subscriber)
        with held.lock:
            held.partition.watch(user)
        try:
            is_caught_up = False
            while True:
                changes = await self._changes(subscriber, held, user, reader)
                for number, message in enumerate(changes.messages):
                    await self._write(subscriber, write, message)
                    self._told["removed" if number < changes.removed else "added"].inc()
                if changes.more:
                    continue
                if not is_caught_up or not await self._is_changed(subscriber):
                    is_caught_up = True
                    await self._write(subscriber, write, reader.heartbeat(pages.applied(held)))
                    self._told["heartbeat"].inc()
        finally:
            with held.lock:
                held.partition.unwatch(user)
            self._by_user[user].discard(subscriber)
            if not self._by_user[user]:
                del self._by_user[user]

    async def _changes(self, subscriber: Subscriber, held: Held, user: int, reader: Reader) -> Changes:
        async with self._turn:
            subscriber.is_dirty.clear()  # first: what is applied from now on is another change
            with held.lock:
                changes = reader.changes(held.partition, user, pages.applied(held))
            # Where many are told of one post, others have their turn in between.
            await asyncio.sleep(0)
        return changes

    async def _write(self, subscriber: Subscriber, write: Write, message: bytes) -> None:
        subscriber.is_writing, subscriber.behind = True, 0
        await write(message)
        subscriber.is_writing = False

    async def _is_changed(self, subscriber: Subscriber) -> bool:
        """Waits; False when it is time for a heartbeat."""
        try:
            async with asyncio.timeout(self._rules.heartbeat_s):
                await subscriber.is_dirty.wait()
        except TimeoutError:
            return False
        return True

    def _cut(self, subscriber: Subscriber) -> None:
        if subscriber.ended_by is None:
            self._metrics.slow_readers.inc()
            subscriber.end(
                TooSlow(
                    f"the timeline changed {subscriber.behind} times while a message was not taken;"
                    " subscribe again with the cursor of the last message that was",
                    retry_after_ms=1,
                )
            )


def _leaving() -> Away:
    return Away("this replica stops; subscribe again with the cursor of the last message", retry_after_ms=100)


def _renewing() -> Away:
    return Away(
        "connections are renewed from time to time; subscribe again with the cursor of the last message",
        retry_after_ms=1,
    )
