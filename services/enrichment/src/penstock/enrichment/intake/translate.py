"""Makes row changes of a database's changes, record by record.

In:  the records of one table's cdc topic, each partition in its order, any of them any number of times.
Out: of each record a `Translation`: changes for tables.<name>.v1, a reason to skip it, or a refusal (dead letters).
Pure: no Kafka, no clock. What was translated is staged: committed() or rolled_back() says what became of it.

Guaranteed, if the lookup keeps its promise (see `RowLookup`):
- The versions written of one row grow, strictly. A record that is delivered again, in whatever stretch of the topic,
  writes nothing: it is recognised by row and LSN. Only a row that a truncate hides may be written again, as it was,
  which the truncate hides as well; and the table store is idempotent by version.
- A snapshot's row never replaces a change that was later in the database's log, and is never held back by one that was
  earlier. A second snapshot writes only rows that are not as they are known.
- `after` is the row, the record's key is its key, `before` is not read. A change of the key is two records with two
  keys; of the first, only what the second may leave out is remembered.
- A value that the source left out is the one before it, or unknown and counted; never guessed.
Not seen from here: rows that were deleted while nobody recorded it (a lost replication slot, a first snapshot that was
cut short) and that the next snapshot therefore does not have. They stay until they are deleted or the table is
truncated: a snapshot does not say whether it is of the whole table (a filter leaves out rows that exist), of this table
only (topics can be merged), or has arrived in all partitions; and of an empty table nothing arrives at all.
"""

from __future__ import annotations

from typing import Final

from penstock.enrichment.intake.columns import NO_COLUMNS, ColumnReader, Columns
from penstock.enrichment.intake.departed import Departed
from penstock.enrichment.intake.envelope import RowRecord, TruncateRecord, read_key, read_value
from penstock.enrichment.intake.keys import row_key_of
from penstock.enrichment.intake.order import Ordered, order, order_truncate
from penstock.enrichment.intake.outcome import (
    Counts,
    KeylessTableError,
    Position,
    RefusedError,
    SkipReason,
    Translation,
)
from penstock.enrichment.intake.pending import Pending
from penstock.enrichment.intake.rows import KnownRow, RowLookup
from penstock.enrichment.intake.unavailable import DEFAULT_MARK, Unavailable
from penstock.enrichment.tables import Version
from penstock.events.v1.event_pb2 import Position as PositionMessage
from penstock.events.v1.event_pb2 import RowVersion
from penstock.pipeline import Table
from penstock.tables.v1.rejected_change_pb2 import CHANGE_REFUSAL_TOO_LARGE
from penstock.tables.v1.row_change_pb2 import OP_DELETE, OP_TRUNCATE, OP_UPSERT, Op, RowChange

PENDING_ROWS_MAX: Final = 50_000
PENDING_BYTES_MAX: Final = 64 << 20
# A record of tables.<name>.v1 has at most 1 MiB; the rest is for its key and Kafka's own frame.
CHANGE_BYTES_MAX: Final = (1 << 20) - 70_000


class Translator:
    def __init__(
        self,
        table_name: str,
        table: Table,
        lookup: RowLookup,
        *,
        unavailable: str = DEFAULT_MARK,
        change_bytes_max: int = CHANGE_BYTES_MAX,
        pending_rows_max: int = PENDING_ROWS_MAX,
        pending_bytes_max: int = PENDING_BYTES_MAX,
    ) -> None:
        """`unavailable` is the connector's unavailable.value.placeholder."""
        if table.from_events:
            raise ValueError(f"table '{table_name}' is made of events, not of a database's changes")
        self.counts = Counts()
        self._table_name = table_name
        self._key = table.key
        self._change_bytes_max = change_bytes_max
        self._columns = ColumnReader(table.columns, Unavailable(unavailable))
        self._pending = Pending(lookup, pending_rows_max, pending_bytes_max)
        self._departed = Departed()

    def translate(self, key: bytes | None, value: bytes | None, source: Position) -> Translation:
        """What a record means. KeylessTableError if the table has no key, and so no record can be taken."""
        try:
            record = read_value(value)
            if isinstance(record, SkipReason):
                return self._skip(record)
            if isinstance(record, TruncateRecord):
                return self._truncate(record, source)
            return self._row(record, self._row_key(key, source), source)
        except RefusedError as error:
            self._doubt(key)
            self.counts.refused[error.refusal.reason] += 1
            return Translation(refusal=error.refusal)

    @property
    def is_full(self) -> bool:
        """Whether to wait, between transactions, until the lookup has more of what was committed."""
        return self._pending.is_full

    def committed(self) -> None:
        """The changes since the last call of this or rolled_back() are in the table's log."""
        self._pending.committed()

    def rolled_back(self) -> None:
        """They are not. Their records will be translated again."""
        self._pending.rolled_back()

    def _row(self, record: RowRecord, key: str, source: Position) -> Translation:
        known = self._pending.newest(key)
        ordered = order(record.stamp, known, self._pending.truncated)
        if isinstance(ordered, SkipReason):
            return self._skip(ordered)
        before = self._trusted(key, known)
        columns = self._read(record, before)
        if record.stamp.from_snapshot and before is not None and _says_the_same(before, columns):
            return self._skip(SkipReason.UNCHANGED)
        change = self._change(key, OP_DELETE if record.after is None else OP_UPSERT, ordered.version, source)
        change.columns.update(columns.values)
        change.unknown_columns.extend(columns.unknown)
        change.from_snapshot = record.stamp.from_snapshot
        self._check_size(change)
        deleted, from_snapshot = record.after is None, record.stamp.from_snapshot
        if deleted and before is not None:
            self._departed.put(record.stamp.lsn, before)
        self._pending.put(key, KnownRow(ordered.version, deleted, columns.values, columns.unknown, from_snapshot))
        self._count(change, columns, ordered)
        return Translation((change,))

    def _truncate(self, record: TruncateRecord, source: Position) -> Translation:
        version = order_truncate(record.stamp, self._pending.truncated)
        if isinstance(version, SkipReason):
            return self._skip(version)
        self._pending.truncate(version)
        self.counts.truncates += 1
        return Translation((self._change("", OP_TRUNCATE, version, source),))

    def _row_key(self, key: bytes | None, source: Position) -> str:
        record_key = read_key(key)
        if record_key is None:
            raise KeylessTableError(self._table_name, source)
        return row_key_of(record_key, self._key)

    def _trusted(self, key: str, known: KnownRow | None) -> KnownRow | None:
        """The row before, if there is one and none of its changes was refused."""
        if known is None or known.deleted or self._pending.is_doubtful(key):
            return None
        truncated = self._pending.truncated
        return None if truncated is not None and truncated > known.version else known

    def _read(self, record: RowRecord, before: KnownRow | None) -> Columns:
        if record.after is None:
            return NO_COLUMNS
        # An insert gives all its values; a create that does not is the second half of a change of the key.
        predecessor = before if record.op == "u" else self._departed.get(record.stamp.lsn)
        return self._columns.read(record.after, record.scales, predecessor)

    def _change(self, key: str, op: Op.ValueType, version: Version, source: Position) -> RowChange:
        return RowChange(
            table=self._table_name,
            key=key,
            op=op,
            version=RowVersion(valid_from_us=version.valid_from_us, position=version.position),
            source=PositionMessage(topic=source.topic, partition=source.partition, offset=source.offset),
        )

    def _check_size(self, change: RowChange) -> None:
        size = change.ByteSize()
        if size > self._change_bytes_max:
            raise RefusedError(
                CHANGE_REFUSAL_TOO_LARGE,
                f"row '{change.key:.100}' has {size} bytes, more than the {self._change_bytes_max} that a record of its"
                " table may have. List the columns that are needed in pipeline.yaml, without the large ones",
            )

    def _doubt(self, key: bytes | None) -> None:
        """A refused change of a row leaves what is known of it behind; if nobody can say of which row, so be it."""
        try:
            record_key = read_key(key)
            if record_key is not None:
                self._pending.doubt(row_key_of(record_key, self._key))
        except RefusedError:
            return

    def _skip(self, reason: SkipReason) -> Translation:
        self.counts.skipped[reason] += 1
        return Translation(skipped=reason)

    def _count(self, change: RowChange, columns: Columns, ordered: Ordered) -> None:
        counts = self.counts
        counts.upserts += change.op == OP_UPSERT
        counts.deletes += change.op == OP_DELETE
        counts.from_snapshot += change.from_snapshot
        counts.columns_kept += columns.kept
        counts.columns_unknown += len(columns.unknown)
        counts.columns_absent += columns.absent
        counts.times_raised += ordered.raised
        counts.log_restarts += ordered.log_restart


def _says_the_same(before: KnownRow, columns: Columns) -> bool:
    return not before.unknown and not columns.unknown and before.columns == columns.values
