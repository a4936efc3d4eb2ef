"""What is known of a row before a change of it is translated.

In:  a `RowLookup`: the tables as far as the log was applied. Here `TableRows`, over a table in memory.
Out: the newest version of a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from penstock.enrichment.tables import Status, Table, Version


class KnownRow(NamedTuple):
    """The newest version of a row: its values, or that it was deleted."""

    version: Version
    deleted: bool
    columns: Mapping[str, str]
    unknown: Sequence[str]
    from_snapshot: bool = False

    @property
    def bytes(self) -> int:
        """The size of its content, about."""
        return 64 + sum(len(name) + len(value) for name, value in self.columns.items())


class RowLookup(Protocol):
    """Tables as they were applied. It may lag behind what the asking `Translator` has translated, which remembers that
    itself. It must not lag behind what others had committed for a partition when that partition came to the asker."""

    def newest(self, key: str) -> KnownRow | None:
        """The newest version that was applied; None if the row was never heard of."""


class TableRows:
    """The rows of a table in memory."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def newest(self, key: str) -> KnownRow | None:
        found = self._table.newest(key)
        if found.version is None:
            return None
        return KnownRow(found.version, found.status is Status.DELETED, found.columns, found.unknown)
