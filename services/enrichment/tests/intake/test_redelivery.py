"""At least once, snapshots that come late, clocks that are set back: the table is what the database was."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.enrichment.intake import Position, SkipReason, TableRows, Translator
from penstock.enrichment.tables import History, Status, Table, change_of
from penstock.pipeline import Table as TableSection
from penstock.tables.v1.row_change_pb2 import RowChange

# Of conftest.py.
Debezium = Any
Intake = Any
HOUR_US = 3_600_000_000


def test_a_redelivered_stretch_writes_nothing(intake: Intake, debezium: Debezium) -> None:
    records = [
        debezium.upsert(1, 5, name="ann", op="c"),
        debezium.upsert(1, 6, name="anna"),
        debezium.delete(1, 7),
        debezium.tombstone(1),
        debezium.upsert(2, 7, name="anna", op="c"),
        debezium.truncate(9),
    ]
    intake.take(*records)
    assert len(intake.log) == 5
    intake.take(*records[1:])
    assert len(intake.log) == 5
    assert intake.translator.counts.skipped[SkipReason.DUPLICATE] == 3  # delete, create, truncate
    assert intake.translator.counts.skipped[SkipReason.SUPERSEDED] == 1


def test_a_rollback_forgets_and_the_second_time_gives_the_same(intake: Intake, debezium: Debezium) -> None:
    records = [debezium.upsert(1, 5, name="ann"), debezium.truncate(6), debezium.upsert(2, 7, name="bob")]
    first = [translation.changes for translation in intake.send(*records)]
    intake.translator.rolled_back()
    second = intake.take(*records)
    stripped = [[_without_source(change) for change in changes] for changes in first]
    assert [[_without_source(change) for change in translation.changes] for translation in second] == stripped


def test_a_snapshot_row_is_older_than_it_looks(intake: Intake, debezium: Debezium) -> None:
    intake.take(debezium.read(1, 100, 1_000, "first", name="ann"))
    assert intake.found("1", 999).status is Status.HISTORY_EVICTED
    assert intake.row("1", 1_000) == {"id": "1", "name": "ann"}
    assert intake.log[0].from_snapshot


def test_a_change_wins_over_a_snapshot_that_was_stamped_after_its_commit(intake: Intake, debezium: Debezium) -> None:
    """It was committed between the point in the log that the snapshot shows and the snapshot's clock."""
    intake.take(debezium.read(1, 100, 1_000, name="ann"), debezium.upsert(1, 101, ts=990, name="anna"))
    assert intake.row("1") == {"id": "1", "name": "anna"}


def test_a_change_at_the_very_place_of_the_snapshot_wins(intake: Intake, debezium: Debezium) -> None:
    intake.take(debezium.read(1, 100, 1_000, name="ann"), debezium.upsert(1, 100, ts=1_000, name="anna"))
    assert intake.row("1") == {"id": "1", "name": "anna"}


def test_a_long_transaction_that_began_before_the_snapshot_and_committed_after_it_wins(
    intake: Intake, debezium: Debezium
) -> None:
    intake.take(debezium.read(1, 100, 1_000, name="ann"), debezium.upsert(1, 90, ts=1_010, name="anna"))
    assert intake.row("1") == {"id": "1", "name": "anna"}


@pytest.mark.parametrize("snapshot", ["true", "first", "last", "incremental"])
def test_a_snapshot_never_replaces_a_later_change(intake: Intake, debezium: Debezium, snapshot: str) -> None:
    """Though it is stamped later."""
    intake.take(debezium.upsert(1, 101, ts=990, name="anna"), debezium.delete(2, 102, ts=995))
    intake.take(debezium.read(1, 100, 1_000, snapshot, name="ann"), debezium.read(2, 100, 1_000, snapshot, name="bob"))
    assert intake.row("1") == {"id": "1", "name": "anna"}
    assert intake.row("2") is None


def test_a_second_snapshot_writes_what_was_missed_and_nothing_else(intake: Intake, debezium: Debezium) -> None:
    intake.take(
        debezium.upsert(1, 5, name="same", op="c"),
        debezium.upsert(2, 6, name="old", op="c"),
        debezium.upsert(3, 7, name="gone", op="c"),
        debezium.delete(3, 8),
    )
    # Nobody listened: row 2 changed, row 3 was made again, row 4 is new.
    before = len(intake.log)
    intake.take(
        debezium.read(1, 100, 1_000, "first", name="same"),
        debezium.read(2, 100, 1_000, name="new"),
        debezium.read(3, 100, 1_000, name="again"),
        debezium.read(4, 100, 1_000, "last", name="dan"),
    )
    assert [change.key for change in intake.log[before:]] == ["2", "3", "4"]
    assert [intake.row(key, 999) for key in "123"] == [{"id": "1", "name": "same"}, {"id": "2", "name": "old"}, None]
    assert [intake.row(key)["name"] for key in "1234"] == ["same", "new", "again", "dan"]
    assert intake.translator.counts.skipped == {SkipReason.UNCHANGED: 1}


def test_a_snapshot_stamped_by_a_slow_clock_does_not_lose_to_earlier_changes(
    intake: Intake, debezium: Debezium
) -> None:
    intake.take(debezium.upsert(1, 5, ts=1_000, name="old"), debezium.read(1, 100, 900, name="new"))
    assert intake.row("1") == {"id": "1", "name": "new"}


def test_a_clock_that_was_set_back_does_not_bring_old_values_back(intake: Intake, debezium: Debezium) -> None:
    records = [debezium.upsert(1, 5, ts=1_000, name="a"), debezium.upsert(1, 6, ts=400, name="b")]
    intake.take(*records, *records)
    assert intake.row("1") == {"id": "1", "name": "b"}
    assert intake.translator.counts.times_raised == 1
    assert len(intake.log) == 2


def test_the_table_follows_a_database_that_moved_to_another_server(intake: Intake, debezium: Debezium) -> None:
    """Its log begins anew, so LSNs are lower; time tells."""
    intake.take(debezium.upsert(1, 5_000, ts=HOUR_US, name="old"), debezium.upsert(2, 5_001, ts=HOUR_US, name="old"))
    intake.take(
        debezium.read(1, 10, 3 * HOUR_US, "last", name="new"), debezium.upsert(2, 11, ts=HOUR_US + 1, name="new")
    )
    assert [intake.row(key)["name"] for key in "12"] == ["new", "new"]
    assert intake.translator.counts.log_restarts == 1


def test_a_new_instance_goes_on_from_the_table(intake: Intake, make_intake: Any, debezium: Debezium) -> None:
    big = "b" * 9_000
    records = [debezium.upsert(1, 5, bio=big, op="c"), debezium.delete(2, 6)]
    intake.take(*records)
    successor = make_intake(intake.table)
    [first, second, update] = successor.send(
        *records, debezium.upsert(1, 7, name="ann", bio="__debezium_unavailable_value")
    )
    assert (first.skipped, second.skipped) == (SkipReason.DUPLICATE, SkipReason.DUPLICATE)
    assert update.changes[0].columns["bio"] == big


# A history of the database: which row, and whether it is written or deleted; then how the connector delivers it.
HISTORY = st.lists(st.tuples(st.integers(1, 3), st.booleans(), st.integers(-30, 30)), min_size=1, max_size=12)
REWINDS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=4)


@given(HISTORY, REWINDS, st.lists(st.booleans(), min_size=1, max_size=8))
def test_whatever_is_resent_the_table_is_the_database_and_versions_grow(
    history: list[tuple[int, bool, int]], rewinds: list[tuple[int, int]], applies: list[bool]
) -> None:
    """The connector goes back to where it was and on from there; the reader of the log lags as it likes."""
    records, final = _database(history)
    store = Table("profiles", History(100, 10**15))
    translator = Translator("profiles", SECTION, TableRows(store))
    log: list[RowChange] = []
    applied = 0
    for step, record in enumerate(_deliveries(records, rewinds)):
        log += translator.translate(*record, Position("cdc", 0, step)).changes
        translator.committed()
        while applied < len(log) and applies[step % len(applies)]:
            store.apply(change_of(log[applied]), 0, applied)
            applied += 1
    _check_growth(log)
    rebuilt = Table("profiles", History(100, 10**15))
    for offset, change in {change.key: (offset, change) for offset, change in enumerate(log)}.values():  # compacted
        rebuilt.apply(change_of(change), 0, offset)
    for key, value in final.items():
        found = rebuilt.newest(key)
        assert (found.columns.get("name") if found.status is Status.MATCHED else None) == value


SECTION = TableSection.model_validate({"source": {"debezium": {"topic": "cdc"}}, "key": "id"})


def _database(history: list[tuple[int, bool, int]]) -> tuple[list[tuple[bytes, bytes]], dict[str, str | None]]:
    """Its records, with a clock that is set forth and back, and its rows at the end."""
    final: dict[str, str | None] = {}
    records = []
    clock = 1_000
    for number, (key, write, pause) in enumerate(history):
        clock += pause
        name = f"v{number}" if write else None
        after = f'{{"id": {key}, "name": "{name}"}}' if write else "null"
        source = f'{{"lsn": {100 + number}, "ts_us": {clock}, "snapshot": "false"}}'
        value = f'{{"op": "{"u" if write else "d"}", "before": null, "after": {after}, "source": {source}}}'
        records.append((f'{{"id": {key}}}'.encode(), value.encode()))
        final[str(key)] = name
    return records, final


def _deliveries(records: list[tuple[bytes, bytes]], rewinds: list[tuple[int, int]]) -> list[tuple[bytes, bytes]]:
    """Up to somewhere, back to somewhere before, and in the end to the end."""
    delivered: list[tuple[bytes, bytes]] = []
    at = 0
    for until, back in rewinds:
        reached = max(at, min(until, len(records)))
        delivered += records[at:reached]
        at = min(back, reached)
    return delivered + records[at:]


def _check_growth(log: list[RowChange]) -> None:
    newest: dict[str, tuple[int, bytes]] = {}
    for change in log:
        version = (change.version.valid_from_us, change.version.position)
        assert version > newest.get(change.key, (0, b""))
        newest[change.key] = version


def _without_source(change: RowChange) -> RowChange:
    copy = RowChange()
    copy.CopyFrom(change)
    copy.ClearField("source")
    return copy
