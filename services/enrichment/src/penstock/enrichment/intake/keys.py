"""Which row a record is of.

In:  the key of a record.
Out: the row's key, as everybody else builds it (`penstock.pipeline.row_key`); RefusedError where it names no row.
The record's key is the only source: `after` has the new values of a row whose key is not the database's, and `before`
may be fabricated. So pipeline.yaml has to name exactly the columns of the record's key, in an order of its choice.
"""

from __future__ import annotations

from typing import Final

from penstock.enrichment.intake.envelope import RecordKey, RowRecord, read_key, read_value
from penstock.enrichment.intake.outcome import KeylessTableError, KeyMismatchError, Position, RefusedError
from penstock.enrichment.intake.values import text_of
from penstock.pipeline import Table, row_key
from penstock.tables.v1.rejected_change_pb2 import CHANGE_REFUSAL_NO_KEY, CHANGE_REFUSAL_TOO_LARGE

KEY_BYTES_MAX: Final = 32_768  # about twelve times what PostgreSQL's own indexes can take


def check_key(table_name: str, table: Table, key: bytes | None, value: bytes | None, source: Position) -> bool:
    """Whether a record proves that the topic's keys are the table's; False if it says nothing about that.

    For the start: any record of the topic will do. KeylessTableError or KeyMismatchError if none can be taken.
    """
    try:
        if not isinstance(read_value(value), RowRecord):
            return False
        record_key = read_key(key)
    except RefusedError:
        return False  # of one bad record nothing follows for the others
    if record_key is None:
        raise KeylessTableError(table_name, source)
    if record_key.columns.keys() != set(table.key):
        raise KeyMismatchError(table_name, source, tuple(record_key.columns), table.key)
    return True


def row_key_of(key: RecordKey, columns: tuple[str, ...]) -> str:
    """`columns` are the table's key columns, in the order of pipeline.yaml."""
    if key.columns.keys() != set(columns):
        raise _no_key(f"the record is keyed by {sorted(key.columns)}, but pipeline.yaml says {sorted(columns)}")
    values = [_part(key, column) for column in columns]
    joined = row_key(values)
    if not joined:
        raise _no_key(f"column '{columns[0]}' of the key is an empty text, which no row can be asked for by")
    if len(joined) * 4 > KEY_BYTES_MAX and len(joined.encode()) > KEY_BYTES_MAX:
        raise RefusedError(CHANGE_REFUSAL_TOO_LARGE, f"the key has more than {KEY_BYTES_MAX} bytes")
    return joined


def _part(key: RecordKey, column: str) -> str:
    text = text_of(key.columns[column], column, key.scales.get(column))
    if text is None:
        raise _no_key(f"column '{column}' of the key is NULL")
    return text


def _no_key(detail: str) -> RefusedError:
    return RefusedError(CHANGE_REFUSAL_NO_KEY, detail)
