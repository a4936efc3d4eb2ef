from __future__ import annotations

from penstock.enrichment.tables import DELETE, TRUNCATE, UPSERT, Change, History, Table, Version
from penstock.enrichment.tables.bodies import pack_body
from penstock.enrichment.tables.hashing import content_hash
from penstock.enrichment.tables.image import empty
from penstock.enrichment.tables.shapes import Shapes
from penstock.enrichment.tables.versions import Row

HISTORY = History(3, 10)


def table_of(*changes: Change, first_offset: int = 0) -> Table:
    table = Table("t", HISTORY)
    for offset, change in enumerate(changes, first_offset):
        table.apply(change, 0, offset)
    return table


def upsert(t_us: int, key: str = "k", position: bytes = b"1", **columns: str) -> Change:
    return Change(key, UPSERT, columns, (), Version(t_us, position))


def test_the_hash_of_known_content_never_changes() -> None:
    """Or else instances of two releases, side by side, would seem to disagree."""
    table = table_of(
        upsert(1, name="Zoë", plan="free"),
        upsert(2, name="Zoë", plan="a\0b"),
        Change("gone", DELETE, {}, (), Version(3, b"")),
        Change("", TRUNCATE, {}, (), Version(0, b"\xff")),
        Change("k", UPSERT, {}, ("name",), Version(4, b"1"), from_snapshot=True),
    )
    assert table.content_hash().hex() == "dc2c5a785d4ef62e147f05dec39d908ddabc7fd1b9a999f0454f81cc21cd01f5"


def test_where_a_change_stood_in_the_log_does_not_count() -> None:
    changes = upsert(1, plan="free"), upsert(2, plan="paid")
    assert table_of(*changes).content_hash() == table_of(*changes, first_offset=7).content_hash()


def test_every_part_of_a_version_counts() -> None:
    variants = [
        table_of(),
        table_of(upsert(1, a="x", b="y")),
        table_of(upsert(1, key="K", a="x", b="y")),
        table_of(upsert(2, a="x", b="y")),
        table_of(upsert(1, position=b"2", a="x", b="y")),
        table_of(upsert(1, a="xy", b="")),
        table_of(upsert(1, a="x", c="y")),
        table_of(upsert(1, a="x")._replace(unknown=("b",))),
        table_of(upsert(1, a="x", b="y")._replace(from_snapshot=True)),
        table_of(upsert(1)._replace(op=DELETE)),
        table_of(Change("", TRUNCATE, {}, (), Version(1, b"1"))),
    ]
    assert len({table.content_hash() for table in variants}) == len(variants)


def test_it_does_not_show_which_shapes_had_a_number() -> None:
    def hashed(shapes_max: int) -> bytes:
        shapes = Shapes(shapes_max=shapes_max)
        number, values = shapes.pack(False, False, {"a": "1", "b": "x\0"}, ["c"])
        body = pack_body(0, number, b"p", values)
        row = Row(False, (1,), (len(body),), body)
        known = tuple(shape.text for shape in shapes.known)
        return content_hash(empty("t", HISTORY)._replace(shapes=known, rows={"k": row.pack()}))

    assert hashed(0) == hashed(1)
