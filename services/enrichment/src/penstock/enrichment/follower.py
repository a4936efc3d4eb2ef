"""Keeps every table complete in memory: loads its log, then follows it.

In:  the records of tables.<name>.v1, all partitions of all tables, committed ones only.
Out: tables that hold everything up to known offsets, and what each change changed.
Guaranteed: load() ends when every table holds what its log held at the start, not before. A snapshot on disk only saves
time: whatever is wrong with it, it is reported, ignored, and the log is read from the beginning.
Use from one thread; whoever reads the tables elsewhere holds `lock`.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from google.protobuf.message import DecodeError
from penstock.enrichment.tables import Applied, History, Table, change_of, snapshot
from penstock.tables.v1.row_change_pb2 import RowChange
from penstock.topics.admin import Admin
from penstock.topics.content import PASSING
from penstock.topics.errors import KafkaUnreachableError

logger = logging.getLogger(__name__)

TIMEOUT_S = 30.0
HOLDS_TIMEOUT_S = 90.0  # a transaction of somebody who died in it stays open for its timeout, and a bit
BATCH = 500
LOCKED = 25  # changes applied at a time: whoever looks something up waits no longer than for these
RECLAIMED = 2_000  # rows looked at per call of reclaim()


@dataclass(frozen=True)
class Followed:
    """One table: its log, how much history it keeps, and what its snapshot must be of."""

    name: str
    topic: str  # in Kafka
    map_topic: str  # on the map of topics: what clients and tokens call it
    history: History
    definition: str


@dataclass
class Progress:
    """Of the load: records to read in all, and read so far."""

    total: int = 0
    done: int = 0


@dataclass
class _State:
    followed: Followed
    table: Table
    next_offsets: dict[int, int]
    origin: snapshot.Origin
    since_snapshot: int = 0


@dataclass(frozen=True)
class Change:
    """A change that was applied."""

    table: str
    applied: Applied


@dataclass(frozen=True)
class Polled:
    """What a look at the logs brought: how often it moved on (ends of partitions included), and what changed."""

    moves: int
    changes: list[Change]


@dataclass
class Counts:
    """Since the start."""

    changes: int = 0
    unreadable: Counter[str] = field(default_factory=Counter)  # by table
    snapshots: Counter[str] = field(default_factory=Counter)  # by table, written
    snapshots_refused: dict[str, str] = field(default_factory=dict)  # by table: why


class Follower:
    def __init__(self, followed: list[Followed], *, kafka: Mapping[str, str], folder: Path | None) -> None:
        self.lock = threading.Lock()
        self.progress = Progress()
        self.counts = Counts()
        self._folder = folder
        self._consumer = Consumer(_consumer_config(kafka), logger=logger)
        # Knows where logs end, though the end be hidden behind a transaction that is still open.
        self._asker = Consumer({**_consumer_config(kafka), "isolation.level": "read_uncommitted"}, logger=logger)
        ids = Admin(kafka, TIMEOUT_S).ids(one.topic for one in followed)
        self._states = {one.topic: self._start(one, ids[one.topic]) for one in followed}
        self._by_name = {state.followed.name: state for state in self._states.values()}
        self._untold: list[Change] = []

    @property
    def tables(self) -> dict[str, Table]:
        return {name: state.table for name, state in self._by_name.items()}

    def positions(self, table: str) -> dict[int, int]:
        """The next offset to apply, by partition."""
        return dict(self._by_name[table].next_offsets)

    def reflects(self, map_topic: str, partition: int, offset: int) -> bool | None:
        """Whether the record is applied; None if it is of no table."""
        for state in self._states.values():
            if state.followed.map_topic == map_topic:
                return state.next_offsets.get(partition, 0) > offset
        return None

    def ends(self) -> dict[tuple[str, int], int]:
        """Where each table's log ends now, with what transactions that are still open hide."""
        return self._ends(self._asker)

    def _ends(self, asker: Consumer) -> dict[tuple[str, int], int]:
        return {
            (topic, partition): _span(asker, TopicPartition(topic, partition))[1]
            for topic, state in self._states.items()
            for partition in state.next_offsets
        }

    def holds(self, ends: Mapping[tuple[str, int], int]) -> bool:
        return all(self._states[topic].next_offsets[partition] >= end for (topic, partition), end in ends.items())

    def lags(self) -> dict[str, int]:
        """Records not yet applied, by table, as far as the client has heard."""
        lags = dict.fromkeys(self._by_name, 0)
        for topic, state in self._states.items():
            for partition, offset in list(state.next_offsets.items()):
                _, end = self._consumer.get_watermark_offsets(TopicPartition(topic, partition), cached=True)
                lags[state.followed.name] += max(0, end - offset)
        return lags

    def load(self, stop: Callable[[], bool]) -> None:
        """Returns when the tables hold what their logs held when it was called, or when `stop` says so."""
        ends = self._ends(self._consumer)  # a transaction that we died in ourselves is open until parts are built
        missing = {place: end - self._states[place[0]].next_offsets[place[1]] for place, end in ends.items()}
        self.progress.total = sum(max(0, count) for count in missing.values())
        places = [
            TopicPartition(topic, partition, offset)
            for topic, state in self._states.items()
            for partition, offset in state.next_offsets.items()
        ]
        self._consumer.assign(places)
        said = monotonic()
        while not self.holds(ends) and not stop():
            self.progress.done += self.poll(0.1).moves
            if monotonic() - said > 5:
                said = monotonic()
                logger.info("loading tables: %d of %d records", self.progress.done, self.progress.total)
        if not stop():
            self.progress.done = self.progress.total
        logger.info("tables are loaded: %s", {name: table.rows for name, table in self.tables.items()})

    def wait_until_holds(self, ends: Mapping[tuple[str, int], int]) -> None:
        """Applies until the tables hold these ends; what changes meanwhile is told by the next poll()."""
        began = monotonic()
        while not self.holds(ends):
            if monotonic() - began > HOLDS_TIMEOUT_S:
                raise KafkaUnreachableError("tables", HOLDS_TIMEOUT_S, "their logs stopped coming before their end")
            self._untold += self._apply_some(0.1).changes

    def poll(self, wait_s: float) -> Polled:
        """Applies what has come, at most BATCH records."""
        untold, self._untold = self._untold, []
        polled = self._apply_some(0 if untold else wait_s)
        return Polled(polled.moves + len(untold), untold + polled.changes)

    def _apply_some(self, wait_s: float) -> Polled:
        first = self._consumer.poll(wait_s)
        if first is None:
            return Polled(0, [])
        messages = [first, *self._consumer.consume(BATCH - 1, 0)]
        changes: list[Change] = []
        for begin in range(0, len(messages), LOCKED):
            with self.lock:
                some = map(self._apply, messages[begin : begin + LOCKED])
                changes += [change for change in some if change is not None]
        return Polled(len(messages), changes)

    def _apply(self, message: Message) -> Change | None:
        error = message.error()
        topic, partition, offset = message.topic() or "", message.partition() or 0, message.offset() or 0
        state = self._states[topic]
        if error is not None:
            if error.name() == "_PARTITION_EOF":
                # The end may lie behind a transaction's marker, which is never delivered.
                state.next_offsets[partition] = max(state.next_offsets[partition], offset)
                return None
            raise KafkaException(error)
        state.next_offsets[partition] = offset + 1
        value = message.value()
        if value is None:
            return None  # a tombstone is for the broker's compaction; the delete came before it
        try:
            change = change_of(RowChange.FromString(value))
        except (DecodeError, ValueError) as cause:
            # Only our own steps write here: nothing can be done about it now, and nobody else can be asked.
            self.counts.unreadable[state.followed.name] += 1
            logger.error("%s[%d]@%d is no row change and is skipped: %s", topic, partition, offset, cause)  # noqa: TRY400
            return None
        applied = state.table.apply(change, partition, offset)
        self.counts.changes += 1
        state.since_snapshot += 1
        return Change(state.followed.name, applied) if applied.changed else None

    def reclaim(self) -> None:
        """Gives back some memory of versions that aged out of rows which do not change any more."""
        for state in self._states.values():
            with self.lock:
                state.table.reclaim(RECLAIMED)

    def save(self, changes_min: int) -> None:
        """Writes a snapshot of each table that has changed by so many records since its last one."""
        if self._folder is None:
            return
        for state in self._states.values():
            if state.since_snapshot < changes_min or not state.since_snapshot:
                continue
            with self.lock:
                image, offsets = state.table.image(), dict(state.next_offsets)
                state.since_snapshot = 0
            snapshot.write(self._path(state.followed), image, state.origin, offsets)
            self.counts.snapshots[state.followed.name] += 1

    def _path(self, followed: Followed) -> Path:
        assert self._folder is not None
        return self._folder / f"{followed.topic}.snapshot"

    def _start(self, followed: Followed, topic_id: str) -> _State:
        """From the snapshot if there is a good one, else empty."""
        metadata = self._consumer.list_topics(followed.topic, timeout=TIMEOUT_S).topics[followed.topic]
        firsts = {
            number: _span(self._consumer, TopicPartition(followed.topic, number)) for number in metadata.partitions
        }
        origin = snapshot.Origin(followed.name, followed.topic, topic_id, followed.definition)
        if self._folder is not None:
            loaded = snapshot.load(self._path(followed), origin, followed.history)
            if isinstance(loaded, snapshot.Loaded):
                reason = _unusable(loaded.offsets, firsts)
                if reason is None:
                    return _State(followed, loaded.table, dict(loaded.offsets), origin)
            else:
                reason = None if loaded.missing else loaded.reason
            if reason is not None:
                self.counts.snapshots_refused[followed.name] = reason
                logger.warning("the snapshot of table %s is ignored: %s", followed.name, reason)
        begin = {number: first for number, (first, _) in firsts.items()}
        return _State(followed, Table(followed.name, followed.history), begin, origin)


def _unusable(offsets: Mapping[int, int], log: Mapping[int, tuple[int, int]]) -> str | None:
    """Why a snapshot does not fit the log that is there: another topic of the same name, most likely."""
    if offsets.keys() != log.keys():
        return f"it is of {len(offsets)} partitions, the topic has {len(log)}"
    ahead = [number for number, offset in offsets.items() if offset > log[number][1]]
    return f"it is ahead of the log in partitions {ahead}" if ahead else None


def _span(consumer: Consumer, place: TopicPartition) -> tuple[int, int]:
    """First and end offset. A partition that was made a moment ago has no leader yet: asks again."""
    deadline = monotonic() + TIMEOUT_S
    while True:
        try:
            first, end = consumer.get_watermark_offsets(place, TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].name() not in PASSING or monotonic() > deadline:
                raise
            consumer.poll(0.05)  # nothing is assigned to it: gives the client time to look again
        else:
            return first, end


def _consumer_config(kafka: Mapping[str, str]) -> dict[str, str | bool | int]:
    return {
        **kafka,
        "group.id": "penstock-tables",  # librdkafka wants one; nothing is committed to it
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "fetch.queue.backoff.ms": 5,
        "fetch.wait.max.ms": 100,
        "queued.max.messages.kbytes": 65_536,
        "log.connection.close": False,
    }
