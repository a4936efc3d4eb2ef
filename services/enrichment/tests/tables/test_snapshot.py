from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.enrichment.tables import DELETE, TRUNCATE, UPSERT, Change, History, Table, Version, snapshot
from penstock.enrichment.tables.snapshot import FORMAT, MAGIC, Loaded, Origin, Refused

ORIGIN = Origin("profiles", "tables.profiles.v1", "n1vnK1mTQYqFD8gBsNnBQA", "5f70bf18a086")
HISTORY = History(3, 50)
OFFSETS = {0: 17, 3: 2**40}


def made() -> Table:
    table = Table("profiles", HISTORY)
    for number in range(60):
        op = DELETE if number % 7 == 3 else UPSERT
        columns = {"name": f"Zoë {number}", "plan": "a\0b"} if number % 5 else {}
        version = Version(number, bytes([number, 255]))
        table.apply(Change(f"user/{number % 9}", op, columns, ["bio"] if number % 4 == 0 else [], version), 0, number)
    for number in (5, 30, 40, 41):
        table.apply(Change("", TRUNCATE, {}, (), Version(number, b"\xff")), 3, number)
    return table


def written(path: Path, table: Table) -> bytes:
    assert snapshot.write(path, table.image(), ORIGIN, OFFSETS) == path.stat().st_size
    return path.read_bytes()


def refusal(path: Path, origin: Origin = ORIGIN, history: History = HISTORY) -> str:
    refused = snapshot.load(path, origin, history)
    assert isinstance(refused, Refused)
    assert refused.missing != path.exists()
    return refused.reason


def test_what_is_loaded_is_what_was_written(tmp_path: Path) -> None:
    path, table = tmp_path / "profiles.snapshot", made()
    written(path, table)
    loaded = snapshot.load(path, ORIGIN, HISTORY)
    assert isinstance(loaded, Loaded)
    assert loaded.offsets == OFFSETS
    assert loaded.table.image() == table.image()
    assert loaded.table.content_hash() == table.content_hash()
    facts = [(each.name, each.rows, each.versions, each.newest_us) for each in (loaded.table, table)]
    assert facts[0] == facts[1]
    assert [loaded.table.newest(f"user/{n}") for n in range(9)] == [table.newest(f"user/{n}") for n in range(9)]
    assert [entry.name for entry in tmp_path.iterdir()] == ["profiles.snapshot"]


def test_a_table_without_rows_can_be_kept(tmp_path: Path) -> None:
    written(tmp_path / "s", Table("profiles", HISTORY))
    loaded = snapshot.load(tmp_path / "s", ORIGIN, HISTORY)
    assert isinstance(loaded, Loaded)
    assert (loaded.table.rows, loaded.table.newest_us) == (0, None)


def test_an_image_does_not_change_with_its_table(tmp_path: Path) -> None:
    table = made()
    image, before = table.image(), table.content_hash()
    table.apply(Change("user/1", DELETE, {}, (), Version(1_000, b"")), 0, 61)
    table.apply(Change("", TRUNCATE, {}, (), Version(2_000, b"")), 0, 62)
    assert Table.restored(image).content_hash() == before != table.content_hash()


def test_any_flipped_bit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "s"
    content = written(path, made())
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :])
        assert refusal(path)


def test_any_cut_and_anything_behind_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "s"
    content = written(path, made())
    for size in range(len(content)):
        path.write_bytes(content[:size])
        assert refusal(path)
    path.write_bytes(content + b"\0")
    assert "checksum" in refusal(path)


@pytest.mark.parametrize(
    ("origin", "history", "named"),
    [
        (replace(ORIGIN, table="posts"), HISTORY, "its table is 'profiles', not 'posts'"),
        (replace(ORIGIN, topic="tables.posts.v1"), HISTORY, "its topic is 'tables.profiles.v1'"),
        (replace(ORIGIN, topic_id="other"), HISTORY, "its topic_id is"),
        (replace(ORIGIN, definition="0"), HISTORY, "its definition is '5f70bf18a086', not '0'"),
        (ORIGIN, History(4, 50), "its versions_max is 3, not 4"),
        (ORIGIN, History(3, 51), "its age_us_max is 50, not 51"),
    ],
)
def test_a_snapshot_of_something_else_is_refused(tmp_path: Path, origin: Origin, history: History, named: str) -> None:
    written(tmp_path / "s", made())
    assert named in refusal(tmp_path / "s", origin, history)


def test_a_newer_format_is_refused_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "s"
    content = written(path, made())
    path.write_bytes(MAGIC + (FORMAT + 1).to_bytes(4, "little") + content[len(MAGIC) + 4 :])
    assert f"has format {FORMAT + 1}; this release reads format {FORMAT}" in refusal(path)


def test_no_file_other_files_and_folders_are_refused(tmp_path: Path) -> None:
    assert "there is no" in refusal(tmp_path / "s")
    (tmp_path / "s").write_text("not a snapshot, though long enough to be one " * 9)
    assert "is no snapshot of a table" in refusal(tmp_path / "s")
    assert "cannot be read" in refusal(tmp_path)


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "s"
    content = written(path, made())
    image = made().image()
    broken = image._replace(rows={**image.rows, "\ud800": b""})  # a key that is no text
    with pytest.raises(UnicodeEncodeError):
        snapshot.write(path, broken, ORIGIN, OFFSETS)
    assert path.read_bytes() == content
    written(path, made())
    assert [entry.name for entry in tmp_path.iterdir()] == ["s"]


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.text(min_size=1), st.dictionaries(st.text(), st.text()), st.integers(-(2**63), 2**63 - 1)))
)
def test_any_text_and_time_survives(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, dict[str, str], int]]
) -> None:
    table, path = Table("profiles", HISTORY), tmp_path_factory.getbasetemp() / "any"
    for offset, (key, columns, time) in enumerate(rows):
        table.apply(Change(key, UPSERT, columns, (), Version(time, b"")), 0, offset)
    written(path, table)
    loaded = snapshot.load(path, ORIGIN, HISTORY)
    assert isinstance(loaded, Loaded)
    assert loaded.table.content_hash() == table.content_hash()
    assert all(loaded.table.newest(key) == table.newest(key) for key, _, _ in rows)
