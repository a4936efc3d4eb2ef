"""The loop of one replica: applies deliveries, asks for refills, saves; in one thread.

In:  the log's records. Out: partitions that reflect them, subscribers told, refills asked, snapshots.
Guaranteed: `loaded` is set when every partition reflects what its log held at the start, not before. A record is
applied once, in order, or the process ends: what is not as the join promises is a bug, and a guess would be a wrong
timeline.
Records are applied a few at a time under the partition's lock, so that whoever reads waits a few milliseconds at most.
"""

from __future__ import annotations

import gc
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import groupby
from time import monotonic

from penstock.timelines.failpoints import Failpoint, no_failpoint
from penstock.timelines.held import Held, Holdings
from penstock.timelines.log import Log, Record, value_of
from penstock.timelines.metrics import Metrics
from penstock.timelines.progress import Progress
from penstock.timelines.refilling import Refilling
from penstock.timelines.saving import Saving
from penstock.timelines.store import Image

logger = logging.getLogger(__name__)

WAIT_S = 0.02
CHUNK_RECORDS = 25
CHUNK_BYTES = 128 << 10
TELL_SHARE = 10  # of the time, at most one part in so many is spent on who is to be told
LISTEN_EVERY_S = 0.1
LOOK_EVERY_S = 1.0


@dataclass
class Load:
    """Records to apply at the start, and applied so far."""

    total: int = 0
    done: int = 0


class Applier:
    """`ring` is called when something was applied, with watched users whose timelines may have changed."""

    def __init__(
        self,
        log: Log,
        holdings: Holdings,
        progress: Progress,
        refilling: Refilling,
        saving: Saving,
        metrics: Metrics,
        *,
        ring: Callable[[Iterable[int]], None],
        failpoint: Failpoint = no_failpoint,
    ) -> None:
        self.load = Load()
        self.loaded = threading.Event()
        self.stopping = threading.Event()
        self._log = log
        self._holdings = holdings
        self._progress = progress
        self._refilling = refilling
        self._saving = saving
        self._metrics = metrics
        self._ring = ring
        self._failpoint = failpoint
        self._progress_position = 0
        self._untold: set[int] = set()  # partitions that were changed since subscribers were told
        self._next_tell = self._next_listen = self._next_look = 0.0
        self._counters = {name: metrics.deliveries.labels(name) for name in ("applied", "dropped")}
        self._added, self._removed = metrics.entries.labels("added"), metrics.entries.labels("removed")
        self._images: queue.SimpleQueue[tuple[int, Future[Image]]] = queue.SimpleQueue()
        metrics.load_records.labels("done").set_function(lambda: self.load.done)
        metrics.load_records.labels("total").set_function(lambda: self.load.total)

    def image(self, partition: int) -> Future[Image]:
        """A copy of a partition of ours, made between two records. Any thread."""
        wanted: Future[Image] = Future()
        self._images.put((partition, wanted))
        return wanted

    def run(self, ends: Mapping[int, int], on_loaded: Callable[[], None]) -> None:
        """Until `stopping`. `ends`: where each partition's log ended at the start. Raises what cannot be survived."""
        self.load.total = sum(max(0, end - self._holdings[number].position) for number, end in ends.items())
        progress_end = self._log.begin({held.number: held.position for held in self._holdings})
        while not self.stopping.is_set():
            self._apply(self._log.poll(WAIT_S))
            self._tell()
            now = monotonic()
            self._listen(now)
            if self.loaded.is_set():
                self._refilling.look(self._holdings, now)
            elif self._holds(ends) and self._progress_position >= progress_end:
                self._has_loaded()
                on_loaded()
            if now >= self._next_look:
                self._next_look = now + LOOK_EVERY_S
                self._look()
                self._saving.look(self._holdings, now)
            self._hand_out_images()
        self._saving.finish(self._holdings, monotonic())  # not after a failure: who knows what of

    def _listen(self, now: float) -> None:
        """Where the logs end: for whoever asks in another thread, since the client lets only one in."""
        if now >= self._next_listen:
            self._next_listen = now + LISTEN_EVERY_S
            for held in self._holdings:
                held.end = max(held.end, self._log.end(held.number))

    def _holds(self, ends: Mapping[int, int]) -> bool:
        return all(self._holdings[number].position >= end for number, end in ends.items())

    def _has_loaded(self) -> None:
        self.load.done = self.load.total
        gc.freeze()  # what is loaded now stays
        self.loaded.set()
        self._look()
        entries = sum(held.partition.entries for held in self._holdings)
        logger.info("timelines are loaded: %d deliveries were applied, %d entries are held", self.load.total, entries)
        self._ring(())

    def _apply(self, records: Sequence[Record]) -> None:
        for partition, run in groupby(records, lambda record: record.partition):
            if partition is None:
                self._follow_progress(run)
            else:
                held = self._holdings[partition]
                for chunk in _chunks(run):
                    self._apply_chunk(held, chunk)
                    self._tell()

    def _follow_progress(self, records: Iterable[Record]) -> None:
        for record in records:
            if not record.end:
                self._progress.take(record.value, record.key)
            self._progress_position = record.offset + (not record.end)
        self._ring(())

    def _apply_chunk(self, held: Held, chunk: Sequence[Record]) -> None:
        held.lock.let_readers_in()
        with held.lock:
            for record in chunk:
                self._apply_one(held, record)
        self._failpoint("applied")
        self._untold.add(held.number)
        self._ring(())
        if self.loaded.is_set():
            now_ms = time.time_ns() // 1_000_000
            for record in chunk:
                if not record.end:
                    self._metrics.freshness_seconds.observe(max(0, now_ms - record.written_ms) / 1000)

    def _tell(self) -> None:
        """Who may see something else now. That looks at every watched user: not more often than is affordable."""
        if not self._untold or (now := monotonic()) < self._next_tell:
            return
        for number in self._untold:
            held = self._holdings[number]
            with held.lock:
                changed = held.partition.changed()
            if changed:
                self._ring(changed)
        self._untold.clear()
        self._next_tell = now + TELL_SHARE * (monotonic() - now)

    def _apply_one(self, held: Held, record: Record) -> None:
        if record.end:
            # It may lie behind what is never delivered, as a transaction's marker.
            held.position = max(held.position, record.offset)
            return
        applied = held.partition.apply(value_of(record), record.offset)
        held.position, held.newest_ms = record.offset + 1, record.written_ms
        held.records_since_save += 1
        removed = applied.entries_removed + applied.entries_trimmed
        held.changed_since_save += applied.entries_added + removed
        self._counters["dropped" if applied.dropped else "applied"].inc()
        self._added.inc(applied.entries_added)
        self._removed.inc(removed)
        if not self.loaded.is_set():
            self.load.done += 1

    def _hand_out_images(self) -> None:
        while not self._images.empty():
            partition, wanted = self._images.get()
            if wanted.set_running_or_notify_cancel():
                wanted.set_result(self._holdings[partition].partition.image())

    def _look(self) -> None:
        metrics, now_ms = self._metrics, time.time_ns() // 1_000_000
        for held in self._holdings:
            partition, label = held.partition, str(held.number)
            metrics.lag_records.labels(label).set(held.lag)
            behind_s = max(0, now_ms - held.newest_ms) / 1000 if held.lag and held.newest_ms else 0
            metrics.lag_seconds.labels(label).set(behind_s)
            metrics.users.labels(label).set(partition.users)
            metrics.inbox_entries.labels(label).set(partition.entries)
            metrics.posts.labels(label).set(partition.posts)
            metrics.bytes.labels(label).set(partition.memory_bytes)
            metrics.refilling.labels(label).set(partition.refilling)
        if not self.loaded.is_set():
            logger.info("loading timelines: %d of %d deliveries", self.load.done, self.load.total)


def _chunks(records: Iterable[Record]) -> Iterator[list[Record]]:
    chunk: list[Record] = []
    size = 0
    for record in records:
        if chunk and (len(chunk) >= CHUNK_RECORDS or size >= CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(record)
        size += len(record.value or b"")
    if chunk:
        yield chunk
