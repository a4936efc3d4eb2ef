"""How many rows and versions a table has, and how much memory they take, kept up to date change by change.

In:  each packed row that comes, or takes the place of another.
Out: counts. They are of what is in memory; versions that were evicted but not reclaimed yet are among them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final

from penstock.enrichment.tables.bodies import Bodies, position_of
from penstock.enrichment.tables.change import Version
from penstock.enrichment.tables.truncates import Truncates
from penstock.enrichment.tables.versions import count_of, newest_at, newest_of

_OBJECT_BYTES: Final = sys.getsizeof(b"")


class Census:
    def __init__(self, rows: Mapping[str, bytes], bodies: Bodies, truncates: Truncates) -> None:
        self._all = rows
        self._bodies = bodies
        self._truncates = truncates
        self.versions = sum(map(count_of, rows.values()))
        self._bytes = sum(map(sys.getsizeof, rows)) + sum(map(len, rows.values()))
        self.recount()

    @property
    def memory_bytes(self) -> int:
        """About: what the allocator adds by rounding is left out."""
        return self._bytes + len(self._all) * _OBJECT_BYTES + sys.getsizeof(self._all)

    def recount(self) -> None:
        """Rows that exist, after a truncate."""
        self.rows = sum(map(self._exists, self._all.values()))

    def add(self, key: str, packed: bytes) -> None:
        self.versions += 1
        self._bytes += sys.getsizeof(key) + len(packed)
        self.rows += self._exists(packed)

    def replace(self, packed: bytes, by: bytes) -> None:
        self.versions += count_of(by) - count_of(packed)
        self._bytes += len(by) - len(packed)
        self.rows += self._exists(by) - self._exists(packed)

    def _exists(self, packed: bytes) -> bool:
        """Whether the newest version is neither a delete nor behind a truncate."""
        if self._bodies.deleted(packed, newest_at(packed, count_of(packed))):
            return False
        if (emptied := self._truncates.newest) is None:
            return True
        valid_from_us, body = newest_of(packed)
        return emptied <= Version(valid_from_us, position_of(body))
