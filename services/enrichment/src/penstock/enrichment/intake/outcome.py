"""What becomes of a record of a cdc topic.

Exactly one of three: changes for the table, a reason to skip it, or a refusal, which goes to the dead letters and lets
the rest go on. Two more things can be wrong, and neither is about one record: the table as such cannot be followed.

UnusableTableError        stop and tell the operator: no record of this topic can be taken
├── KeylessTableError     the database's table has no key
└── KeyMismatchError      it has another key than pipeline.yaml says
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from penstock.tables.v1.rejected_change_pb2 import ChangeRefusal
from penstock.tables.v1.row_change_pb2 import RowChange

DETAIL_CHARS_MAX: Final = 500


class Position(NamedTuple):
    """Where a record is."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}]@{self.offset}"


class SkipReason(StrEnum):
    """Why a record changes nothing, and rightly so."""

    HEARTBEAT = "heartbeat"
    TRANSACTION_MARKER = "transaction_marker"
    LOGICAL_MESSAGE = "logical_message"
    TOMBSTONE = "tombstone"  # for the broker's compaction; the delete came before it
    DUPLICATE = "duplicate"  # this very change was taken already
    SUPERSEDED = "superseded"  # what is known of the row is newer
    UNCHANGED = "unchanged"  # a snapshot says again what is known


class Refusal(NamedTuple):
    """Why a record cannot be taken, for machines and for people."""

    reason: ChangeRefusal.ValueType
    detail: str


class RefusedError(Exception):
    """Raised while a record is read; `Translator` makes it a refusal."""

    def __init__(self, reason: ChangeRefusal.ValueType, detail: str) -> None:
        super().__init__(detail)
        shown = detail if len(detail) <= DETAIL_CHARS_MAX else detail[: DETAIL_CHARS_MAX - 1] + "…"
        self.refusal = Refusal(reason, shown)


class UnusableTableError(Exception):
    """The topic's records cannot be made into rows of the table, none of them."""


class KeylessTableError(UnusableTableError):
    def __init__(self, table: str, place: Position) -> None:
        super().__init__(
            f"table '{table}': the change at {place} has no key, so nobody can say which row it is of. Give the"
            " database's table a PRIMARY KEY; or, if it has unique columns that are NOT NULL, set REPLICA IDENTITY to"
            " their index and name them in Debezium's message.key.columns. Then let Debezium write to a new topic"
        )


class KeyMismatchError(UnusableTableError):
    def __init__(self, table: str, place: Position, has: tuple[str, ...], wants: tuple[str, ...]) -> None:
        super().__init__(
            f"table '{table}': rows of {place.topic} are keyed by {_names(has)}, but pipeline.yaml says"
            f" {_names(wants)}. Name the columns of the database's key there, or set Debezium's message.key.columns"
        )


@dataclass(frozen=True, slots=True)
class Translation:
    """Changes, in order; or why there is none."""

    changes: tuple[RowChange, ...] = ()
    skipped: SkipReason | None = None
    refusal: Refusal | None = None


@dataclass
class Counts:
    """Since the start, for the metrics. What is translated again after a rollback counts again."""

    upserts: int = 0
    deletes: int = 0
    truncates: int = 0
    from_snapshot: int = 0  # of the upserts
    columns_kept: int = 0  # the source did not give the value, and it was known
    columns_unknown: int = 0  # the source did not give the value, and nobody knows it
    columns_absent: int = 0  # pipeline.yaml names a column that the record does not have: dropped, or misspelt
    times_raised: int = 0  # the database's clock ran backwards between two changes of a row
    log_restarts: int = 0  # snapshot rows whose place in the log is lower than it was long before: another server's log
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    refused: Counter[ChangeRefusal.ValueType] = field(default_factory=Counter)


def _names(columns: tuple[str, ...]) -> str:
    return ", ".join(f"'{column}'" for column in columns) or "nothing"
