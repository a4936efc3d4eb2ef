"""Which answers a change may have changed.

In:  a row before a version was put in, and with it; where it was put.
Out: from when until when. The correction horizon looks at the events in between, and at no others.
Eviction is left out: what was answered from a version that is now gone was right.
"""

from __future__ import annotations

from penstock.enrichment.tables.bodies import Bodies, position_of
from penstock.enrichment.tables.change import BEGINNING_US, FOREVER_US, Version
from penstock.enrichment.tables.truncates import Truncates
from penstock.enrichment.tables.versions import Row

NOTHING: tuple[int, int] = (0, 0)


class Effects:
    def __init__(self, bodies: Bodies, truncates: Truncates) -> None:
        self._bodies = bodies
        self._truncates = truncates

    def of(self, before: Row, grown: Row, index: int, first: int) -> tuple[int, int]:
        """Of a version at `index` of `grown`, whose oldest kept version is `first`."""
        if index < first:
            # It can only lend its values to the oldest kept version, and through that to later ones.
            if not self._bodies.unknown(grown.body(first)):
                return NOTHING
            index = first
        begins = grown.times[index]
        if index == 0 and not grown.evicted and self._is_open(before) != self._is_open(grown):
            begins = BEGINNING_US
        return begins, self._until(grown, index)

    def _is_open(self, row: Row) -> bool:
        """Whether the row may be older than it looks."""
        return self._bodies.shape(row.body(0)).from_snapshot

    def _until(self, row: Row, index: int) -> int:
        """Until the next version that takes nothing over from this one, or the next truncate."""
        after = index + 1
        while after < len(row.times) and self._bodies.unknown(row.body(after)):
            after += 1
        until = row.times[after] if after < len(row.times) else FOREVER_US
        if index == 0:  # behind a truncate, a row that had never been there is now one that was deleted
            return until
        return min(until, self._truncates.after(Version(row.times[index], position_of(row.body(index)))))
