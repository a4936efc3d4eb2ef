"""Changes of posts and follows of every kind, written straight to the tables' topics, and a ledger of them.

Late ones, ones that come twice or in the wrong order, versions of one microsecond, deletes before creates, edits, and
now and then a truncate. Authors are followed by about as many as make the difference between inboxes and outboxes, so
that they cross it all the time. The ledger is all that is believed of what timelines should be: `timelines` says it in
ten lines.
"""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from confluent_kafka import KafkaError, Message, Producer
from enrichment_stack import until
from penstock.tables.v1.row_change_pb2 import OP_DELETE, OP_TRUNCATE, OP_UPSERT, RowChange
from penstock.topics import murmur2_partition
from timeline_stack import Shown

USERS, AUTHORS = 40, 12
FOLLOWERS = 24  # about as many has every author, after a while
HOUR_US = 3_600_000_000
HELD_BACK_MAX = 100
DEVICES = [b"phone\0boot\0", b"laptop\0boot\0", b"\xff\0"]
BURST, PAUSE_S = 5, 0.02
FLUSHED_WITHIN_S = 60.0


class Change(NamedTuple):
    """A version of one row, (author, post id) or (follower, author); of all rows, where the key is empty."""

    time_us: int
    position: bytes
    table: str
    key: tuple[str, ...]
    alive: bool
    text: str = ""

    @property
    def author(self) -> str:
        return self.key[0] if self.table == "posts" else self.key[1]


def timelines(changes: Iterable[Change], capacity: int) -> dict[str, list[Shown]]:
    """The newest live posts, by (time, id, author), of the authors that a user follows; of users who have any."""
    newest: dict[tuple[str, tuple[str, ...]], Change] = {}
    for change in changes:
        newest[change.table, change.key] = max(change, newest.get((change.table, change.key), change))
    cuts = {table: cut for (table, key), cut in newest.items() if not key}
    live = [one for one in newest.values() if one.alive and one >= cuts.get(one.table, one)]
    posts: dict[str, list[Shown]] = defaultdict(list)
    for one in live:
        if one.table == "posts":
            posts[one.author].append(Shown(one.time_us, one.key[1], one.author, one.text))
    shown: dict[str, list[Shown]] = defaultdict(list)
    for follower, author in (one.key for one in live if one.table == "follows"):
        shown[follower] += posts[author]
    return {user: sorted(all_of, reverse=True)[:capacity] for user, all_of in shown.items() if all_of}


class TablesWriter:
    """Rows go to the partition of their author, a truncate to every partition."""

    def __init__(self, bootstrap: str, prefix: str, partitions: int) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 1})
        self._prefix, self._partitions = prefix, partitions
        self._faults: list[KafkaError] = []

    def write(self, change: Change) -> None:
        row = RowChange(table=change.table, key="/".join(change.key), op=OP_UPSERT if change.alive else OP_DELETE)
        row.version.valid_from_us, row.version.position = change.time_us, change.position
        if change.text:
            row.columns["text"] = change.text
        shards: Iterable[int] = range(self._partitions)
        if change.key:
            shards = [murmur2_partition(change.author.encode(), self._partitions)]
        else:
            row.op = OP_TRUNCATE
        value, key = row.SerializeToString(), row.key.encode()
        for shard in shards:
            self._producer.produce(
                f"{self._prefix}tables.{change.table}.v1", value, key, shard, on_delivery=self._written
            )
        self._producer.poll(0)

    def flush(self) -> None:
        assert self._producer.flush(FLUSHED_WITHIN_S) == 0
        assert not self._faults, self._faults

    def _written(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._faults.append(error)


class TimelineLedger:
    """`changes` are all that was written, or is about to be; use `written` around what should happen meanwhile."""

    def __init__(self, writer: TablesWriter, seed: int) -> None:
        self.changes: list[Change] = []
        self._writer = writer
        self._random = random.Random(seed)
        self._posts: dict[str, int] = defaultdict(int)
        self._held_back: list[Change] = []
        self._stop = threading.Event()

    @property
    def users(self) -> list[str]:
        return [f"u{number}" for number in range(USERS)]

    @contextmanager
    def written(self) -> Iterator[None]:
        """Meanwhile the tables change. What goes wrong in there is raised here."""
        faults: list[BaseException] = []

        def work() -> None:
            try:
                while not self._stop.wait(PAUSE_S):
                    self.write(BURST)
            except BaseException as error:  # noqa: BLE001 -- raised below, in the thread that can tell of it
                faults.append(error)

        self._stop.clear()
        thread = threading.Thread(target=work, name="tables")
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()
        if faults:
            raise faults[0]
        self.finish()

    def write(self, count: int) -> None:
        for _ in range(count):
            for change in self._next():
                self.changes.append(change)
                self._send(change)

    def finish(self) -> None:
        """Whatever was held back comes now."""
        for change in self._held_back:
            self._writer.write(change)
        self._held_back.clear()
        self._writer.flush()

    def grows(self, by: int) -> None:
        """Waits until so many more were made."""
        target = len(self.changes) + by
        until(lambda: len(self.changes) >= target)

    def _send(self, change: Change) -> None:
        chance = self._random.random()
        if chance < 0.1:
            self._held_back.append(change)
        else:
            self._writer.write(change)
        if chance > 0.95:
            self._writer.write(self._random.choice(self.changes[-500:]))  # again, or before its time
        if len(self._held_back) > self._random.randrange(1, HELD_BACK_MAX):
            self._writer.write(self._held_back.pop(self._random.randrange(len(self._held_back))))

    def _next(self) -> Iterator[Change]:
        chance = self._random.random()
        author = f"a{self._random.randrange(AUTHORS)}"
        if chance < 0.45:
            number = self._posts[author] = self._posts[author] + 1
            yield self._change("posts", (author, f"p{number}"), text=f"text {len(self.changes)}")
        elif chance < 0.6:
            recent = max(1, self._posts[author] + 2 - self._random.randrange(12))  # perhaps to come
            yield self._change("posts", (author, f"p{recent}"), alive=False)
        elif chance < 0.65:
            recent = max(1, self._posts[author] - self._random.randrange(30))
            yield self._change("posts", (author, f"p{recent}"), text=f"edited {len(self.changes)}")
        elif chance < 0.6503:
            yield self._change(self._random.choice(["posts", "follows"]), (), alive=False)
        else:
            user = self._random.choice(self.users)
            alive = self._random.random() < FOLLOWERS / USERS
            yield self._change("follows", (user, author), alive=alive)

    def _change(self, table: str, key: tuple[str, ...], *, alive: bool = True, text: str = "") -> Change:
        """Its position says nothing about when it was made: of one microsecond, any may win."""
        now_us = time.time_ns() // 1000
        chance = self._random.random()
        if chance < 0.1:
            now_us -= self._random.randrange(HOUR_US // 60)
        elif chance < 0.2 and self.changes:
            now_us = self.changes[-1].time_us
        device = self._random.choice(DEVICES)
        position = device + len(self.changes).to_bytes(8, "big")
        return Change(now_us, position, table, key, alive, text)
