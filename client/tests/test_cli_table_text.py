from __future__ import annotations

import json

import pytest
from penstock.client.cli.table_text import position_text, row_fields, row_lines, size_text, table_cells, table_fields
from penstock.client.place import Place
from penstock.client.row import Lookup, Row, RowStatus, TableState

NOON_US = 1_767_268_800_000_000  # 2026-01-01 12:00 UTC
LSN = (0x1_0000_0ABC).to_bytes(8, "big")


def text(lookup: Lookup, row: Row) -> list[str]:
    return [line for line, _ in row_lines(lookup, row)]


def test_a_row_that_is_found() -> None:
    row = Row(RowStatus.MATCHED, {"name": "Ada\x1b[2J", "id": "1"}, NOON_US, LSN, (), stale=True)
    assert text(Lookup("profiles", ("a/b", "c")), row) == [
        "profiles a%2Fb/c: found, valid from 2026-01-01 12:00:00.000000Z",
        "  version LSN 1/ABC",
        "  stale: the table does not reflect the token yet",
        "  id    1",
        r"  name  Ada\x1b[2J",
    ]


def test_a_row_of_its_key_alone() -> None:
    assert text(Lookup("t", "k"), Row(RowStatus.MATCHED, {}, NOON_US, LSN, (), stale=False))[2:] == [
        "  (no columns besides the key)"
    ]


@pytest.mark.parametrize(
    ("status", "as_of", "words"),
    [
        (RowStatus.MISSING, None, "t k: missing, the table has no such row"),
        (RowStatus.MISSING, NOON_US, "t k as of 2026-01-01 12:00:00.000000Z: missing, the table had no such row then"),
        (RowStatus.HISTORY_EVICTED, NOON_US, "no longer kept, so that nobody can say"),
    ],
)
def test_a_row_that_is_not_there_is_said_in_words(status: RowStatus, as_of: int | None, words: str) -> None:
    (line,) = text(Lookup("t", "k", as_of), Row(status, {}, None, b"", (), stale=False))
    assert line.endswith(words)


def test_a_deleted_row_says_since_when() -> None:
    lines = text(Lookup("t", "k"), Row(RowStatus.DELETED, {}, NOON_US, LSN, (), stale=False))
    assert lines == ["t k: deleted, since 2026-01-01 12:00:00.000000Z", "  version LSN 1/ABC"]


def test_a_column_that_nobody_knows_is_named() -> None:
    row = Row(RowStatus.MATCHED, {"a": "1"}, NOON_US, LSN, (), stale=False, unknown=("bio",))
    assert text(Lookup("t", "k"), row)[-1] == "  (unknown, because the source did not say: bio)"


def test_a_row_for_programs() -> None:
    row = Row(RowStatus.MATCHED, {"b": "2", "a": "1"}, NOON_US, LSN, (Place("tables.t.v1", 0, 7),), stale=False)
    assert json.loads(json.dumps(row_fields(Lookup("t", ("k", "l"), 5), row))) == {
        "table": "t",
        "key": "k/l",
        "as_of_us": 5,
        "status": "MATCHED",
        "found": True,
        "columns": {"a": "1", "b": "2"},
        "unknown_columns": [],
        "valid_from": "2026-01-01 12:00:00.000000Z",
        "valid_from_us": NOON_US,
        "position": "0000000100000abc",
        "stale": False,
        "applied": ["tables.t.v1:0:7"],
    }


@pytest.mark.parametrize(
    ("position", "words"),
    [
        (LSN + b"\x01", "LSN 1/ABC"),
        (b"phone\0boot\0" + (7).to_bytes(8, "big"), "event phone/boot/#7"),
        (b"phone\0\0order-1", "event phone/order-1"),
        (b"\xff\xfe", "fffe"),
        (b"", "without a position"),
    ],
)
def test_positions(position: bytes, words: str) -> None:
    assert position_text(position) == words


def test_a_table_for_people_and_for_programs() -> None:
    applied = (Place("tables.t.v1", 0, 12), Place("tables.t.v1", 3, 4))
    table = TableState("t", 1_234_567, 2_000_000, 98_765_432, 3, applied, bytes(range(32)))
    assert table_cells(table, shortened=True) == (
        "t", "1,234,567", "2,000,000", "98.8 MB", "3", "0001020304050607", "0:12 3:4",
    )  # fmt: skip
    assert table_cells(table, shortened=False)[1:6] == ("1234567", "2000000", "98765432", "3", bytes(range(32)).hex())
    assert table_fields(table)["applied"] == ["tables.t.v1:0:12", "tables.t.v1:3:4"]


@pytest.mark.parametrize(("size", "words"), [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (2e15, "2e+03 TB")])
def test_sizes(size: float, words: str) -> None:
    assert size_text(size) == words
