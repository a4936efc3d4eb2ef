"""Rows that were deleted a moment ago, by the place of the delete in the database's log.

An update that changes a row's key is a delete and a create, which are one entry of that log and so have one LSN. The
create may leave out large values that did not change: they are those of the row that departed at this LSN.
Bounded in rows and bytes: the create follows at once, where it is in the same partition.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from penstock.enrichment.intake.rows import KnownRow

ROWS_MAX: Final = 1_024
BYTES_MAX: Final = 16 << 20


class Departed:
    def __init__(self, rows_max: int = ROWS_MAX, bytes_max: int = BYTES_MAX) -> None:
        self._rows_max = rows_max
        self._bytes_max = bytes_max
        self._rows: OrderedDict[int, KnownRow] = OrderedDict()
        self._bytes = 0

    def get(self, lsn: int) -> KnownRow | None:
        return self._rows.get(lsn)

    def put(self, lsn: int, row: KnownRow) -> None:
        if (before := self._rows.pop(lsn, None)) is not None:
            self._bytes -= before.bytes
        self._rows[lsn] = row
        self._bytes += row.bytes
        while len(self._rows) > self._rows_max or self._bytes > self._bytes_max:
            self._bytes -= self._rows.popitem(last=False)[1].bytes
