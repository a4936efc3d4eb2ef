"""What a row was at any time, in plain Python: the oracle of joins.

It shares nothing with what it judges: a list of versions, and a search from its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.events.v1.event_pb2 import (
    ENRICHMENT_STATUS_DELETED,
    ENRICHMENT_STATUS_HISTORY_EVICTED,
    ENRICHMENT_STATUS_MATCHED,
    ENRICHMENT_STATUS_MISSING,
    Enrichment,
)

Columns = Mapping[str, str]


class Found(NamedTuple):
    """What a join should find, or found."""

    status: int
    columns: Columns


def found_by(enrichment: Enrichment) -> Found:
    return Found(enrichment.status, dict(enrichment.columns))


@dataclass
class RowHistory:
    """The versions of one row, oldest first; None where it was deleted."""

    versions: list[tuple[int, Columns | None]] = field(default_factory=list)
    from_snapshot: bool = False

    def add(self, valid_from_us: int, columns: Columns | None) -> None:
        self.versions.append((valid_from_us, columns))

    def at(self, t_us: int) -> Found:
        for valid_from_us, columns in reversed(self.versions):
            if valid_from_us <= t_us:
                return Found(ENRICHMENT_STATUS_DELETED if columns is None else ENRICHMENT_STATUS_MATCHED, columns or {})
        return Found(ENRICHMENT_STATUS_HISTORY_EVICTED if self.from_snapshot else ENRICHMENT_STATUS_MISSING, {})
