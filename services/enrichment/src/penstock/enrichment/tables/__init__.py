"""Tables in memory: rows with their versions, as of any time, from a log of changes.

In:  `Change`s with their place in the log.
Out: `Table.as_of`, and a snapshot of it all on disk (`snapshot`).
"""

from penstock.enrichment.tables.change import (
    BEGINNING_US,
    DELETE,
    FOREVER_US,
    TRUNCATE,
    UPSERT,
    Applied,
    BadChangeError,
    Change,
    Found,
    History,
    Status,
    Version,
    change_of,
)
from penstock.enrichment.tables.table import Table

__all__ = [
    "BEGINNING_US",
    "DELETE",
    "FOREVER_US",
    "TRUNCATE",
    "UPSERT",
    "Applied",
    "BadChangeError",
    "Change",
    "Found",
    "History",
    "Status",
    "Table",
    "Version",
    "change_of",
]
