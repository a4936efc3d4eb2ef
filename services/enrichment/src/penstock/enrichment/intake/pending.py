"""What was translated and has not come back from the log yet.

In:  rows as translated; whether their transaction was committed or rolled back.
Out: the newest version of a row, from here or from the lookup, whichever is newer.
Guaranteed: a row stays here until the lookup has it, so nothing that was translated is ever forgotten in between. The
caller waits while `is_full`; then memory is bounded by the limits plus one transaction.
"""

from __future__ import annotations

from typing import Final

from penstock.enrichment.intake.rows import KnownRow, RowLookup
from penstock.enrichment.tables import Version

TRUNCATES_MAX: Final = 64
DOUBTS_MAX: Final = 10_000


class Pending:
    def __init__(self, lookup: RowLookup, rows_max: int, bytes_max: int) -> None:
        self._lookup = lookup
        self._rows_max = rows_max
        self._bytes_max = bytes_max
        self._staged: dict[str, KnownRow] = {}
        self._unsettled: dict[str, KnownRow] = {}
        self._bytes = 0  # of the unsettled
        self._truncates: list[Version] = []
        self._staged_truncates: list[Version] = []
        self._doubts: set[str] | None = set()  # None: too many to tell them apart

    @property
    def is_full(self) -> bool:
        """Whether the log has to be applied further before more is translated."""
        if self._over():
            self._settle()
        return self._over()

    @property
    def truncated(self) -> Version | None:
        """The newest truncate that was translated here."""
        return max((*self._truncates, *self._staged_truncates), default=None)

    def newest(self, key: str) -> KnownRow | None:
        """A row that is known by a truncate only is not known: its own versions are older, how much nobody can say."""
        here = self._staged.get(key) or self._unsettled.get(key)
        there = self._lookup.newest(key)
        if there is not None and there.deleted and self._is_truncate(there.version):
            there = None
        return here if there is None or (here is not None and here.version >= there.version) else there

    def put(self, key: str, row: KnownRow) -> None:
        self._staged[key] = row
        if self._doubts is not None:
            self._doubts.discard(key)

    def truncate(self, version: Version) -> None:
        self._staged_truncates.append(version)

    def doubt(self, key: str) -> None:
        """A change of this row was refused: what is known of its values may be older than the next change thinks."""
        if self._doubts is not None:
            self._doubts.add(key)
            if len(self._doubts) > DOUBTS_MAX:
                self._doubts = None

    def is_doubtful(self, key: str) -> bool:
        return self._doubts is None or key in self._doubts

    def committed(self) -> None:
        """What was staged is in the log, and will come from there."""
        for key, row in self._staged.items():
            self._drop(key)
            self._unsettled[key] = row
            self._bytes += row.bytes
        self._truncates = sorted({*self._truncates, *self._staged_truncates})[-TRUNCATES_MAX:]
        self.rolled_back()

    def rolled_back(self) -> None:
        """What was staged never happened."""
        self._staged.clear()
        self._staged_truncates.clear()

    def _settle(self) -> None:
        """Forget what the lookup has."""
        for key, row in list(self._unsettled.items()):
            applied = self._lookup.newest(key)
            if applied is not None and applied.version >= row.version:
                self._drop(key)

    def _drop(self, key: str) -> None:
        if (row := self._unsettled.pop(key, None)) is not None:
            self._bytes -= row.bytes

    def _over(self) -> bool:
        return len(self._unsettled) >= self._rows_max or self._bytes >= self._bytes_max

    def _is_truncate(self, version: Version) -> bool:
        return version in self._truncates or version in self._staged_truncates
