"""The partitions that this replica holds, each with its lock and how far it has come.

The applier's thread is the only one that changes a partition, and holds the lock while it does. Whoever reads in
another thread holds it too, for a read at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic, sleep
from types import TracebackType

from penstock.timelines.snapshot import Origin
from penstock.timelines.store import Partition

YIELD_S = 0.0001
YIELDS_MAX = 50


class ReadersFirst:
    """A lock. `with` is for readers; the writer asks `let_readers_in` before, because a lock is not fair by itself.

    Whoever releases a lock and takes it again at once, as the applier does, has usually got it before those who waited
    are awake.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_wanted = False

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self._is_wanted = True
            self._lock.acquire()
            self._is_wanted = False  # of two who wait, the second may have to wait longer: no harm

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def let_readers_in(self) -> None:
        """Waits a moment if somebody waits; not for ever, or readers could keep the writer out."""
        for _ in range(YIELDS_MAX):
            if not self._is_wanted:
                return
            sleep(YIELD_S)


@dataclass
class Held:
    """One of ours. `position`: the first offset of the log that is not reflected."""

    partition: Partition
    origin: Origin
    position: int
    end: int = 0  # of the log, as far as it is known
    lock: ReadersFirst = field(default_factory=ReadersFirst)
    newest_ms: int = 0  # when the record applied last was written; 0: none yet
    changed_since_save: int = 0  # entries
    records_since_save: int = 0
    saved_at: float = field(default_factory=monotonic)

    @property
    def number(self) -> int:
        return self.partition.number

    @property
    def lag(self) -> int:
        """Records that are not applied."""
        return max(0, self.end - self.position)


class Holdings:
    """Ours, by number."""

    def __init__(self, held: Sequence[Held]) -> None:
        self._held = {one.number: one for one in held}

    def __iter__(self) -> Iterator[Held]:
        return iter(self._held.values())

    def __getitem__(self, partition: int) -> Held:
        return self._held[partition]

    def position(self, partition: int) -> int | None:
        """None: not ours."""
        held = self._held.get(partition)
        return None if held is None else held.position
