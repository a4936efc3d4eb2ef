"""The loop of one instance: follow the tables, take in changes, join events, correct; in one thread.

Because one thread does all of it, a join sees exactly the changes that were applied before it, and a change that comes
after it finds the event in the horizon. Whoever asks from another thread (look-ups) holds the follower's lock.
"""

from __future__ import annotations

import gc
import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from penstock.enrichment.follower import Follower
from penstock.enrichment.intake.step import IntakeStep
from penstock.enrichment.join.emission import Counts
from penstock.enrichment.join.horizon import Horizon
from penstock.enrichment.join.joiner import Joiner
from penstock.enrichment.join.step import JoinStep
from penstock.enrichment.metrics import Metrics
from penstock.enrichment.transactor import Transactor

logger = logging.getLogger(__name__)

WAIT_S = 0.02
GAUGES_EVERY_S = 1.0
BEHIND = 5_000  # changes of tables that are not applied yet
MANY_ROWS = 1_000  # written by one transaction


@dataclass(frozen=True)
class Parts:
    """What an engine drives. `intake` is None without tables from change data capture."""

    follower: Follower
    joiner: Joiner
    horizon: Horizon
    step: JoinStep
    join: Transactor
    intake: Transactor | None
    intake_step: IntakeStep


class Engine:
    def __init__(
        self,
        build: Callable[[], Parts],
        follower: Follower,
        metrics: Metrics,
        *,
        snapshot_changes: int,
        on_progress: Callable[[], None],
    ) -> None:
        self._build = build
        self._follower = follower
        self._metrics = metrics
        self._snapshot_changes = snapshot_changes
        self._on_progress = on_progress
        self._parts: Parts | None = None  # kept until the process ends: see the transactor
        self._told = Counts()
        self._holds = False
        self._to_hold: dict[tuple[str, int], int] = {}  # where tables' logs must be applied to before the next join
        self._changes_told: Counter[Any] = Counter()
        self._lagging: set[tuple[str, int]] = set()
        metrics.load_records.labels("done").set_function(lambda: follower.progress.done)
        metrics.load_records.labels("total").set_function(lambda: follower.progress.total)
        self.stopping = threading.Event()
        self.loaded = threading.Event()

    def run(self) -> None:
        """Until `stopping`. Raises what is not to be survived."""
        self._follower.load(self.stopping.is_set)
        if self.stopping.is_set():
            return
        parts = self._parts = self._build()
        self._follower.wait_until_holds(self._follower.ends())
        gc.freeze()  # what is loaded now stays
        self.loaded.set()
        self._on_progress()
        looked = monotonic()
        try:
            while not self.stopping.is_set():
                self._round(parts)
                if monotonic() - looked > GAUGES_EVERY_S:
                    looked = monotonic()
                    self._look(parts)
                    self._follower.reclaim()
                    self._follower.save(self._snapshot_changes)
        finally:
            self._follower.save(1)

    def _round(self, parts: Parts) -> None:
        # While events wait for a table, the table is what to wait for.
        polled = self._follow(parts, WAIT_S if self._holds else 0)
        if parts.intake is not None:
            self._transaction("intake", parts.intake, 0)
        # Tables that are far behind would give joins that the horizon may be too small to correct: they go first.
        worked = not self._is_behind() and self._transaction("join", parts.join, 0 if polled else WAIT_S)
        if worked:
            rows = parts.step.counts.rows - self._told.rows
            self._count(parts.step.counts)
            if rows > MANY_ROWS:  # catching up: the next events may be about these very rows
                self._to_hold = self._follower.ends()
        if polled or worked:
            self._on_progress()

    def _follow(self, parts: Parts, wait_s: float) -> int:
        """Applies what has come, and tells whoever joined with it; how much that was."""
        polled = self._follower.poll(wait_s)
        for change in polled.changes:
            parts.joiner.row_changed(change.table, change.applied.key)
            parts.horizon.table_changed(change.table, change.applied)
        return polled.moves

    def _is_behind(self) -> bool:
        if not self._follower.holds(self._to_hold):
            return True
        self._to_hold = {}
        return sum(self._follower.lags().values()) > BEHIND

    def _transaction(self, name: str, transactor: Transactor, wait_s: float) -> bool:
        began = monotonic()
        report = transactor.round(wait_s)
        self._holds = report.holds
        if report.committed:
            self._metrics.transactions.labels(name, "committed").inc()
            self._metrics.transaction_seconds.labels(name).observe(monotonic() - began)
        elif report.read:
            self._metrics.transactions.labels(name, "started_over").inc()
        return report.committed

    def _count(self, counts: Counts) -> None:
        metrics, told = self._metrics, self._told
        metrics.events.inc(counts.events - told.events)
        metrics.duplicates.inc(counts.duplicates - told.duplicates)
        metrics.corrections.inc(counts.corrections - told.corrections)
        metrics.rows_written.inc(counts.rows - told.rows)
        for reason, count in (counts.rejected - told.rejected).items():
            metrics.rejected.labels(reason).inc(count)
        for (table, status), count in (counts.joins - told.joins).items():
            metrics.joins.labels(table, status).inc(count)
        self._told = counts

    def _count_changes(self, step: IntakeStep) -> None:
        """What became of the records of change data capture and of the tables' own logs, by table."""
        counts, metrics = self._follower.counts, self._metrics
        now: Counter[Any] = Counter({(metrics.intake, *labels): count for labels, count in step.outcomes().items()})
        now.update({(metrics.unreadable, table): count for table, count in counts.unreadable.items()})
        now.update({(metrics.snapshots, table, "written"): count for table, count in counts.snapshots.items()})
        now.update({(metrics.snapshots, table, "refused"): 1 for table in counts.snapshots_refused})
        for (counter, *labels), count in (now - self._changes_told).items():
            counter.labels(*labels).inc(count)
        self._changes_told = now

    def _look(self, parts: Parts) -> None:
        metrics, follower = self._metrics, self._follower
        self._count_changes(parts.intake_step)
        lags = parts.join.lag()
        self._tell_lags(lags | (parts.intake.lag() if parts.intake is not None else {}))
        metrics.lag_seconds.set(parts.step.lag_s() if any(lags.values()) else 0)
        metrics.tables_lag.set(sum(follower.lags().values()))
        metrics.horizon_events.set(len(parts.horizon))
        metrics.horizon_events_max.set(parts.horizon.events_max)
        metrics.horizon_evicted.set(parts.horizon.evicted)
        for name, table in follower.tables.items():
            metrics.table_rows.labels(name).set(table.rows)
            metrics.table_versions.labels(name).set(table.versions)
            metrics.table_bytes.labels(name).set(table.memory_bytes)

    def _tell_lags(self, lags: Mapping[tuple[str, int], int]) -> None:
        gauge = self._metrics.lag_records
        for topic, partition in self._lagging - lags.keys():  # somebody else's now
            gauge.remove(topic, str(partition))
        for (topic, partition), lag in lags.items():
            gauge.labels(topic, str(partition)).set(lag)
        self._lagging = set(lags)
