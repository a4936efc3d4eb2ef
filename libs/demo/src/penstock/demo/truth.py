"""Which profile was valid when: the truth that joins are judged by.

In:  the rows that the database had when change data capture began; every change since, with the time at which
     PostgreSQL says that it was committed.
Out: what a join of an event with a time should have found.
It rests on the database alone, not on what change data capture or enrichment made of it; with one exception: since when
the first rows are known is the time of Debezium's snapshot, and enrichment has to say it. Before that time nobody knows
more than that there may have been something: history evicted.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.demo.profiles import Change, Kind
from penstock.events.v1.event_pb2 import (
    ENRICHMENT_STATUS_DELETED,
    ENRICHMENT_STATUS_HISTORY_EVICTED,
    ENRICHMENT_STATUS_MATCHED,
    ENRICHMENT_STATUS_MISSING,
    EnrichmentStatus,
)


class Valid(NamedTuple):
    """What was valid at a time: status, columns (of a matched row), since when (of a matched or deleted one)."""

    status: EnrichmentStatus.ValueType
    columns: Mapping[str, str]
    since_us: int


_MISSING = Valid(ENRICHMENT_STATUS_MISSING, {}, 0)
_HISTORY_EVICTED = Valid(ENRICHMENT_STATUS_HISTORY_EVICTED, {}, 0)


@dataclass(slots=True)
class _Row:
    """The versions of one row, oldest first."""

    from_snapshot: bool
    times_us: list[int] = field(default_factory=list)
    versions: list[Valid] = field(default_factory=list)

    def add(self, version: Valid) -> None:
        self.times_us.append(version.since_us)
        self.versions.append(version)


class Truth:
    def __init__(self) -> None:
        self._rows: dict[str, _Row] = {}
        self._under_way_us: int | None = None
        self.changes = dict.fromkeys(Kind, 0)
        self.newest: Change | None = None

    def begin_with(self, user: str, columns: Mapping[str, str], since_us: int) -> None:
        """A row of the snapshot."""
        row = self._rows[user] = _Row(from_snapshot=True)
        row.add(Valid(ENRICHMENT_STATUS_MATCHED, columns, since_us))

    def begin(self, now_us: int) -> None:
        """A change is under way: from now on it may be committed at any time."""
        self._under_way_us = now_us

    def committed(self, change: Change, at_us: int) -> None:
        for profile in change.rows:
            row = self._rows.setdefault(profile.user, _Row(from_snapshot=False))
            if change.kind is Kind.DELETE:
                row.add(Valid(ENRICHMENT_STATUS_DELETED, {}, at_us))
            else:
                row.add(Valid(ENRICHMENT_STATUS_MATCHED, profile.columns, at_us))
        self.changes[change.kind] += 1
        self.newest = change
        self._under_way_us = None

    def known_until_us(self, now_us: int) -> int:
        """Everything that was committed before this time is known."""
        return now_us if self._under_way_us is None else min(self._under_way_us, now_us)

    def as_of(self, user: str, t_us: int) -> Valid:
        row = self._rows.get(user)
        if row is None:
            return _MISSING
        index = bisect_right(row.times_us, t_us) - 1
        if index < 0:
            return _HISTORY_EVICTED if row.from_snapshot else _MISSING
        return row.versions[index]

    def now(self) -> dict[str, Valid]:
        """Every user that ever had a profile, as it is now."""
        return {user: row.versions[-1] for user, row in self._rows.items()}
