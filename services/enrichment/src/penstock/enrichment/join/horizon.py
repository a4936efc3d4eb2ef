"""The events emitted a short while ago, in case a version of a row that they should have used comes late.

In:  emitted events with what they rest on; changes of tables. Out: the events whose joins may have changed.
Bounded in number and in age; what falls out can no longer be corrected, and is counted by its caller.
Pure. Changes are staged with the transaction: commit() or rollback().
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import islice

from penstock.enrichment.join.joiner import Row
from penstock.enrichment.tables import Applied


@dataclass(slots=True, eq=False)
class Emitted:
    """One event in the enriched log. `base` is all of it but revision and the enrichments that can change."""

    raw_partition: int
    key: bytes
    base: bytes
    t_us: int
    emitted_us: int
    revision: int
    rows: tuple[Row, ...]
    enrichments: tuple[bytes, ...]  # one per row


@dataclass(slots=True)
class Horizon:
    events_max: int
    age_us_max: int
    evicted: int = 0
    _queue: deque[Emitted] = field(default_factory=deque)
    _by_row: dict[str, dict[str, deque[Emitted]]] = field(default_factory=dict)  # by table, then by key
    _staged: list[Emitted] = field(default_factory=list)
    _suspects: dict[Emitted, None] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, event: Emitted) -> None:
        """Staged until commit()."""
        self._staged.append(event)

    def commit(self) -> None:
        for event in self._staged:
            self._queue.append(event)
            for _, table, key in event.rows:
                of_table = self._by_row.get(table)
                if of_table is None:
                    of_table = self._by_row[table] = {}
                events = of_table.get(key)
                if events is None:
                    of_table[key] = deque((event,))
                else:
                    events.append(event)
        self._staged.clear()
        while len(self._queue) > self.events_max:
            self._drop_oldest()
            self.evicted += 1

    def rollback(self) -> None:
        self._staged.clear()

    def restore(self, event: Emitted) -> None:
        """From the enriched log: tables may have changed since it was emitted."""
        self.add(event)
        self.commit()
        self._suspects[event] = None

    def expire(self, now_us: int) -> None:
        while self._queue and now_us - self._queue[0].emitted_us > self.age_us_max:
            self._drop_oldest()

    def forget(self, raw_partitions: Collection[int]) -> None:
        """Their events are somebody else's to correct."""
        kept = [event for event in self._queue if event.raw_partition not in raw_partitions]
        suspects = [event for event in self._suspects if event.raw_partition not in raw_partitions]
        self._queue.clear()
        self._by_row.clear()
        self._staged[:] = kept
        self.commit()
        self._suspects = dict.fromkeys(suspects)

    def table_changed(self, table: str, applied: Applied) -> None:
        """Marks the events whose answer may be another one now."""
        if applied.from_us >= applied.until_us:
            return
        of_table = self._by_row.get(table, {})
        rows: Iterable[Iterable[Emitted]] = (
            of_table.values() if applied.key is None else (of_table.get(applied.key, ()),)
        )
        for events in rows:
            self._suspects.update((event, None) for event in events if applied.from_us <= event.t_us < applied.until_us)

    def has_suspects(self) -> bool:
        return bool(self._suspects)

    @property
    def suspects_count(self) -> int:
        return len(self._suspects)

    def suspects(self, events_max: int) -> list[Emitted]:
        """The first so many of them."""
        return list(islice(self._suspects, events_max))

    def cleared(self, events: Collection[Emitted]) -> None:
        """They were looked at, and their corrections, if any, are committed."""
        for event in events:
            self._suspects.pop(event, None)

    def _drop_oldest(self) -> None:
        event = self._queue.popleft()
        self._suspects.pop(event, None)
        for row in event.rows:
            # Rows hold their events in the order of the queue: the oldest is first.
            of_table = self._by_row[row.table]
            events = of_table[row.key]
            events.popleft()
            if not events:
                del of_table[row.key]
