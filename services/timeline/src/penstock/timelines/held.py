"""The partitions that this replica holds, each with its lock and how far it has come.

The applier's thread is the only one that changes a partition, and holds the lock while it does. Whoever reads in
another thread holds it too, for a read at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic

from penstock.timelines.snapshot import Origin
from penstock.timelines.store import Partition


@dataclass
class Held:
    """One of ours. `position`: the first offset of the log that is not reflected."""

    partition: Partition
    origin: Origin
    position: int
    end: int = 0  # of the log, as far as it is known
    lock: threading.Lock = field(default_factory=threading.Lock)
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
