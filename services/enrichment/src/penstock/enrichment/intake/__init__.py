"""Table intake: a database's changes, as Debezium writes them, become changes of a table.

In:  records of a cdc topic.
Out: `RowChange`s, in the versions' order per row; reasons to skip; refusals for the dead letters.
"""

from penstock.enrichment.intake.keys import check_key
from penstock.enrichment.intake.outcome import (
    Counts,
    KeylessTableError,
    KeyMismatchError,
    Position,
    Refusal,
    SkipReason,
    Translation,
    UnusableTableError,
)
from penstock.enrichment.intake.rejected import rejected_change
from penstock.enrichment.intake.rows import KnownRow, RowLookup, TableRows
from penstock.enrichment.intake.sources import check_sources
from penstock.enrichment.intake.translate import Translator

__all__ = [
    "Counts",
    "KeyMismatchError",
    "KeylessTableError",
    "KnownRow",
    "Position",
    "Refusal",
    "RowLookup",
    "SkipReason",
    "TableRows",
    "Translation",
    "Translator",
    "UnusableTableError",
    "check_key",
    "check_sources",
    "rejected_change",
]
