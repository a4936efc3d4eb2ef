"""What a row was at a time.

In:  a packed row, a time, the horizon before which nothing is kept.
Out: `Found`. Any row, however unusual; table.py answers the usual ones itself, in fewer steps.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from penstock.enrichment.tables.bodies import Bodies, body_source, place_of, position_of
from penstock.enrichment.tables.change import Found, Status, Version
from penstock.enrichment.tables.truncates import Truncates
from penstock.enrichment.tables.versions import Row, first_kept, unpack

MISSING: Final = Found(Status.MISSING, {}, (), None, -1, -1)
HISTORY_EVICTED: Final = Found(Status.HISTORY_EVICTED, {}, (), None, -1, -1)


class Answers:
    def __init__(self, versions_max: int, bodies: Bodies, truncates: Truncates) -> None:
        self._versions_max = versions_max
        self._bodies = bodies
        self._truncates = truncates

    def find(self, packed: bytes, t_us: int, horizon_us: int) -> Found:
        row = unpack(packed)
        index = bisect_right(row.times, t_us) - 1
        first = first_kept(row.times, self._versions_max, horizon_us)
        if index < first or index < 0:
            return self._before_history(row, first)
        if self._truncates:
            if self._truncates.unsure_at(t_us):
                return HISTORY_EVICTED
            emptied = self._truncates.at(t_us)
            if emptied and emptied > _version(row, index):
                return _deleted(emptied, self._truncates.source(emptied))
        return self._state(row, index)

    def _before_history(self, row: Row, first: int) -> Found:
        """Nothing was there yet, unless there may have been something that is not known any more."""
        if first or row.evicted or self._bodies.shape(row.body(0)).from_snapshot:
            return HISTORY_EVICTED
        return MISSING

    def _state(self, row: Row, index: int) -> Found:
        body, version = row.body(index), _version(row, index)
        shape = self._bodies.shape(body)
        if shape.deleted:
            return _deleted(version, body_source(body))
        columns = self._bodies.columns(body)
        unknown = self._fill(columns, set(shape.unknown), row, index) if shape.unknown else ()
        return Found(Status.MATCHED, columns, unknown, version, *place_of(body_source(body)))

    def _fill(self, columns: dict[str, str], wanted: set[str], row: Row, index: int) -> tuple[str, ...]:
        """Take what the version does not say from those before it; return what none of them knows."""
        version = _version(row, index)
        while wanted and index:
            index -= 1
            body = row.body(index)
            shape = self._bodies.shape(body)
            if shape.deleted or self._truncates.between(_version(row, index), version):
                break
            columns.update((name, value) for name, value in self._bodies.columns(body).items() if name in wanted)
            wanted.intersection_update(shape.unknown)
        return tuple(sorted(wanted))


def _version(row: Row, index: int) -> Version:
    return Version(row.times[index], position_of(row.body(index)))


def _deleted(version: Version, source: int) -> Found:
    return Found(Status.DELETED, {}, (), version, *place_of(source))
