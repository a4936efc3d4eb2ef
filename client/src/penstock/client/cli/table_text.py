"""Rows and tables as people and programs read them. Pure.

In:  rows and the states of tables, as enrichment answered.
Out: lines and cells of text; objects for JSON, in which nothing is shortened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo
from typing import Any

from penstock.client.cli.rendering import visible
from penstock.client.cli.times import time_text
from penstock.client.excerpt import excerpt
from penstock.client.place import Place
from penstock.client.row import Lookup, Row, RowStatus, TableState, key_text

HEADINGS = ("table", "rows", "versions", "memory", "lag", "content", "applied")
_VALUE_CHARS_MAX = 1_000
_HASH_CHARS = 16
_LSN_BYTES = 8
_UNITS = ("B", "kB", "MB", "GB", "TB")


def row_lines(lookup: Lookup, row: Row, zone: tzinfo | None = UTC) -> Iterator[tuple[str, str]]:
    """(text, style): what was found, of which version, and the columns below each other."""
    style = "green" if row.found else "yellow"
    asked = f" as of {time_text(_asked_us(lookup), zone)}" if lookup.as_of is not None else ""
    yield visible(f"{lookup.table} {key_text(lookup.key)}{asked}: {_status_text(row, zone, past=bool(asked))}"), style
    if row.valid_from_us is not None:
        yield f"  version {position_text(row.position)}", "dim"
    if row.stale:
        yield "  stale: the table does not reflect the token yet", "yellow"
    width = max((len(visible(name)) for name in row.columns), default=0)
    for name, value in sorted(row.columns.items()):
        yield f"  {visible(name):{width}}  {visible(excerpt(value, _VALUE_CHARS_MAX))}", ""
    if row.unknown:
        yield f"  (unknown, because the source did not say: {', '.join(map(visible, row.unknown))})", "dim"
    if row.found and not row.columns:
        yield "  (no columns besides the key)", "dim"


def _status_text(row: Row, zone: tzinfo | None, *, past: bool) -> str:
    since = "an unknown time" if row.valid_from_us is None else time_text(row.valid_from_us, zone)
    if row.status is RowStatus.MATCHED:
        return f"found, valid from {since}"
    if row.status is RowStatus.DELETED:
        return f"deleted, since {since}"
    if row.status is RowStatus.MISSING:
        return f"missing, the table {'had no such row then' if past else 'has no such row'}"
    return "history evicted, what the row was then is no longer kept, so that nobody can say"


def row_fields(lookup: Lookup, row: Row) -> dict[str, Any]:
    """null is "not known" or "not asked"."""
    return {
        "table": lookup.table,
        "key": key_text(lookup.key),
        "as_of_us": None if lookup.as_of is None else _asked_us(lookup),
        "status": row.status.name,
        "found": row.found,
        "columns": dict(sorted(row.columns.items())),
        "unknown_columns": list(row.unknown),
        "valid_from": None if row.valid_from_us is None else time_text(row.valid_from_us),
        "valid_from_us": row.valid_from_us,
        "position": row.position.hex(),
        "stale": row.stale,
        "applied": [str(place) for place in row.applied],
    }


def _asked_us(lookup: Lookup) -> int:
    assert isinstance(lookup.as_of, int)  # the command line reads times as microseconds
    return lookup.as_of


def position_text(position: bytes) -> str:
    """PostgreSQL's own way to write a place in its log, or device/boot/number of an event."""
    if len(position) in {_LSN_BYTES, _LSN_BYTES + 1} and position[0] == 0:
        lsn = int.from_bytes(position[:_LSN_BYTES], "big")
        return f"LSN {lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
    device, _, rest = position.partition(b"\0")
    boot, separator, last = rest.partition(b"\0")
    if not separator:
        return position.hex() or "without a position"
    numbered = len(last) == _LSN_BYTES and last[0] == 0
    name = f"#{int.from_bytes(last, 'big')}" if numbered else last.decode(errors="replace")
    said = (device.decode(errors="replace"), boot.decode(errors="replace"), name)
    return visible(f"event {'/'.join(part for part in said if part)}")


def table_cells(table: TableState, *, shortened: bool) -> tuple[str, ...]:
    """Under HEADINGS. For programs, which can compute, nothing is rounded or cut."""
    content = table.content_hash.hex()
    applied = offsets_text(table.applied)
    if not shortened:
        numbers = (table.rows, table.versions, table.memory_bytes, table.lag_records)
        return table.name, *(str(number) for number in numbers), content, applied
    counts = (f"{table.rows:,}", f"{table.versions:,}", size_text(table.memory_bytes), f"{table.lag_records:,}")
    return table.name, *counts, content[:_HASH_CHARS], applied


def offsets_text(applied: Sequence[Place]) -> str:
    """PARTITION:OFFSET of each."""
    return " ".join(f"{place.partition}:{place.offset}" for place in applied) or "nothing"


def table_fields(table: TableState) -> dict[str, Any]:
    """`applied` names the newest record of each partition that the table holds."""
    return {
        "table": table.name,
        "rows": table.rows,
        "versions": table.versions,
        "memory_bytes": table.memory_bytes,
        "lag_records": table.lag_records,
        "content_hash": table.content_hash.hex(),
        "applied": [str(place) for place in table.applied],
    }


def size_text(size: float) -> str:
    """Bytes, in the unit that reads best."""
    for unit in _UNITS[:-1]:
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} {_UNITS[-1]}"
