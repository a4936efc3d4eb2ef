"""The law of a table: content and answers are a function of the set of changes. An oracle says which."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.enrichment.tables import (
    BEGINNING_US,
    DELETE,
    FOREVER_US,
    TRUNCATE,
    UPSERT,
    Change,
    Found,
    History,
    Status,
    Table,
    Version,
)

KEYS, TIMES, FOREVER = ("k", "ключ", "k/2"), range(-1, 14), 10**9
Answer = tuple[Status, dict[str, str], tuple[str, ...], Version | None]


def oracle(changes: Sequence[Change], history: History, key: str, t_us: int) -> Answer:
    """All changes in a list, every question answered from scratch."""
    versions = sorted((c.version, c) for c in changes if c.key == key and c.op != TRUNCATE)
    truncates = sorted(c.version for c in changes if c.op == TRUNCATE)
    horizon_us = max((c.version.valid_from_us for c in changes), default=0) - history.age_us_max
    aged = sum(successor.valid_from_us <= horizon_us for successor, _ in versions[1:])
    first = max(len(versions) - history.versions_max, aged)
    index = sum(version.valid_from_us <= t_us for version, _ in versions) - 1
    if not versions or (index < 0 and first <= 0 and not versions[0][1].from_snapshot):
        return Status.MISSING, {}, (), None
    known = truncates[-history.versions_max :]
    if index < max(first, 0) or (len(truncates) > len(known) and t_us < known[0].valid_from_us):
        return Status.HISTORY_EVICTED, {}, (), None
    version, change = versions[index]
    emptied = max((truncate for truncate in truncates if truncate.valid_from_us <= t_us), default=version)
    if emptied > version or change.op == DELETE:
        return Status.DELETED, {}, (), max(emptied, version)
    columns, unknown = dict(change.columns), set(change.unknown)
    for older, before in reversed(versions[:index]):
        if before.op == DELETE or any(older < truncate <= version for truncate in truncates):
            break
        columns |= {name: value for name, value in before.columns.items() if name in unknown}
        unknown &= set(before.unknown)
    return Status.MATCHED, columns, tuple(sorted(unknown)), version


def said(found: Found) -> Answer:
    return found.status, dict(found.columns), found.unknown, found.version


def answers(table: Table) -> dict[tuple[str, int], Answer]:
    return {(key, t_us): said(table.as_of(key, t_us)) for key in (*KEYS, "nobody") for t_us in (*TIMES, FOREVER_US)}


@st.composite
def changes(draw: st.DrawFn) -> Change:
    version = Version(draw(st.integers(0, 12)), draw(st.sampled_from([b"", b"\0", b"a", b"ab", b"\xff"])))
    op = draw(st.sampled_from([UPSERT] * 7 + [DELETE] * 2 + [TRUNCATE]))
    if op == TRUNCATE:
        return Change("", op, {}, (), version)
    columns = draw(st.dictionaries(st.sampled_from("abc"), st.text("xé\0", max_size=2)))
    unknown = draw(st.sets(st.sampled_from("abc"))) - set(columns) if draw(st.booleans()) else ()
    return Change(draw(st.sampled_from(KEYS)), op, columns, tuple(unknown), version, draw(st.integers(0, 5)) == 0)


sets_of_changes = st.lists(changes(), max_size=14, unique_by=lambda change: (change.key, change.version))
histories = st.builds(History, st.integers(1, 4), st.sampled_from([0, 1, 3, 6, FOREVER]))


def arrivals(of: Sequence[Change], data: st.DataObject) -> list[tuple[int, Change]]:
    """All of them, in any order, some more than once, each with its offset in the log."""
    again = data.draw(st.lists(st.sampled_from(of), max_size=6)) if of else []
    log = list(enumerate([*again, *of]))
    return data.draw(st.permutations(log))


def fill(table: Table, arriving: Sequence[tuple[int, Change]], data: st.DataObject) -> Table:
    """Apply them, with restarts and reclaims in between."""
    for offset, change in arriving:
        table.apply(change, 0, offset)
        match data.draw(st.sampled_from(["go on", "go on", "restart", "reclaim"])):
            case "restart":
                table = Table.restored(table.image())
            case "reclaim":
                table.reclaim()
    return table


@settings(max_examples=100)
@given(sets_of_changes, histories, st.data())
def test_any_arrival_of_the_same_changes_gives_the_same_answers_and_hash(
    of: list[Change], history: History, data: st.DataObject
) -> None:
    straight, other = Table("t", history), Table("t", history)
    for offset, change in enumerate(of):
        straight.apply(change, 0, offset)
    arriving = arrivals(of, data)
    other = fill(other, arriving, data)
    expected = {(key, t_us): oracle(of, history, key, t_us) for key, t_us in answers(other)}
    assert answers(other) == expected
    assert answers(straight) == expected
    assert other.content_hash() == straight.content_hash()
    assert other.rows == sum(expected[key, FOREVER_US][0] == Status.MATCHED for key in KEYS)
    assert other.keys() == {change.key for change in of if change.op != TRUNCATE}
    for key, t_us in expected:
        if (found := other.as_of(key, t_us)).version:
            of_row = [(offset, c) for offset, c in arriving if c.key in (key, "") and c.version == found.version]
            first = min((c.op == TRUNCATE, offset) for offset, c in of_row)
            assert found.offset == first[1], "the first record that said so; if a truncate did too, the row's"
    other.reclaim()
    straight.reclaim()
    assert other.versions == straight.versions


@settings(max_examples=60)
@given(sets_of_changes, histories, st.data())
def test_a_change_tells_which_answers_it_changed(of: list[Change], history: History, data: st.DataObject) -> None:
    table = Table("t", history)
    before, hash_before = answers(table), table.content_hash()
    for offset, change in arrivals(of, data):
        applied = table.apply(change, 0, offset)
        after, hash_after = answers(table), table.content_hash()
        assert applied.changed or (after == before and hash_after == hash_before)
        for (key, t_us), answer in after.items():
            evicted = answer[0] == Status.HISTORY_EVICTED
            assert answer == before[key, t_us] or evicted or t_us == FOREVER_US or applied.affects(key, t_us)
        before, hash_before = after, hash_after


@settings(max_examples=30)
@given(sets_of_changes, sets_of_changes, histories)
def test_the_hash_differs_where_an_answer_does(one: list[Change], other: list[Change], history: History) -> None:
    tables = Table("t", history), Table("t", history)
    for table, of in zip(tables, (one, other), strict=True):
        for offset, change in enumerate(of):
            table.apply(change, 0, offset)
    if answers(tables[0]) != answers(tables[1]):
        assert tables[0].content_hash() != tables[1].content_hash()


def upsert(t_us: int, position: bytes = b"1", key: str = "k", **columns: str) -> Change:
    return Change(key, UPSERT, columns, (), Version(t_us, position))


LONG = History(3, FOREVER)


def filled(*of: Change, history: History = LONG) -> Table:
    table = Table("t", history)
    for offset, change in enumerate(of):
        table.apply(change, 2, offset)
    return table


def test_a_row_is_found_with_its_version_and_its_place_in_the_log() -> None:
    table = filled(upsert(10, plan="free"), upsert(20, plan="paid", country="DE"))
    assert table.as_of("k", 9).status == Status.MISSING
    assert table.as_of("k", 10) == Found(Status.MATCHED, {"plan": "free"}, (), Version(10, b"1"), 2, 0)
    assert table.as_of("k", 19) == table.as_of("k", 10)
    assert table.newest("k") == Found(Status.MATCHED, {"plan": "paid", "country": "DE"}, (), Version(20, b"1"), 2, 1)
    assert table.newest("nobody") == Found(Status.MISSING, {}, (), None, -1, -1)
    assert (table.rows, table.versions, table.newest_us) == (1, 2, 20)


def test_a_delete_that_came_first_is_not_undone_by_what_it_deleted() -> None:
    table = filled(Change("k", DELETE, {"plan": "fabricated"}, ("bio",), Version(20, b"1")), upsert(10, plan="free"))
    assert table.newest("k") == Found(Status.DELETED, {}, (), Version(20, b"1"), 2, 0)
    assert table.as_of("k", 15).columns == {"plan": "free"}
    assert table.rows == 0


def test_a_truncate_deletes_what_is_older_whenever_that_arrives() -> None:
    truncate = Change("", TRUNCATE, {}, (), Version(20, b"1"))
    table = filled(upsert(10, plan="free"), truncate, upsert(15, key="late"), upsert(30, key="new"))
    assert [table.newest(key).status for key in ("k", "late", "new")] == [
        Status.DELETED,
        Status.DELETED,
        Status.MATCHED,
    ]
    assert table.newest("late") == Found(Status.DELETED, {}, (), Version(20, b"1"), 2, 1)
    assert [table.as_of(key, 19).status for key in ("k", "late")] == [Status.MATCHED, Status.MATCHED]
    assert table.rows == 1


def test_a_row_that_is_first_heard_of_behind_a_truncate_was_deleted_by_it() -> None:
    table = filled(Change("", TRUNCATE, {}, (), Version(20, b"1")), upsert(30))
    assert table.as_of("k", 25).status == Status.MISSING
    assert table.apply(upsert(10), 0, 0)[2:] == (10, 30)
    assert table.as_of("k", 25).status == Status.DELETED
    assert table.apply(upsert(12), 0, 1)[2:] == (12, 20), "nothing new behind the truncate"


def test_the_source_is_the_first_record_of_several_that_say_the_same() -> None:
    table = Table("t", LONG)
    for offset, changed in ((7, True), (9, False), (3, False), (4, False)):
        assert table.apply(upsert(10, plan="free"), 1, offset).changed == changed
    assert table.newest("k")[4:] == (1, 3)


def test_an_unknown_column_keeps_its_value_even_from_a_version_that_is_no_longer_kept() -> None:
    toast = [Change("k", UPSERT, {"plan": str(t)}, ("bio",), Version(t, b"1")) for t in range(20, 30)]
    table = filled(upsert(10, bio="long", plan="free"), *toast)
    assert table.newest("k")[:3] == (Status.MATCHED, {"plan": "29", "bio": "long"}, ())
    assert table.as_of("k", 10).status == Status.HISTORY_EVICTED
    late = table.apply(upsert(15, bio="longer"), 2, 99)
    assert (late.changed, late.from_us, late.until_us) == (True, 27, FOREVER_US)
    assert table.newest("k").columns == {"plan": "29", "bio": "longer"}
    assert table.versions == 4, "three, and the one that lends its value"


def test_an_unknown_column_stays_unknown_where_nobody_knows_it() -> None:
    delete = Change("k", DELETE, {}, (), Version(15, b"1"))
    table = filled(upsert(10, bio="of another life"), delete, Change("k", UPSERT, {}, ("bio",), Version(20, b"1")))
    assert table.newest("k")[:3] == (Status.MATCHED, {}, ("bio",))


def test_age_counts_from_the_newest_change_of_the_table() -> None:
    table = filled(upsert(10), upsert(20), upsert(30), history=History(9, 5))
    assert [table.as_of("k", t).status for t in (10, 20, 30)] == [
        Status.HISTORY_EVICTED,
        Status.MATCHED,
        Status.MATCHED,
    ]
    table.apply(upsert(35, key="other"), 0, 9)
    assert table.as_of("k", 20).status == Status.HISTORY_EVICTED
    assert table.newest("k").status == Status.MATCHED
    versions = table.versions
    memory, content = table.memory_bytes, table.content_hash()
    table.reclaim()
    assert table.versions == versions - 1
    assert table.memory_bytes < memory
    assert table.content_hash() == content


def test_reclaiming_goes_on_where_it_stopped() -> None:
    keys = [f"k{number}" for number in range(5)]
    table = filled(*(upsert(t_us, key=key) for key in keys for t_us in (10, 20)), history=History(9, 5))
    table.apply(upsert(100, key="new"), 0, 99)
    for left in (9, 7, 6, 6):  # two rows, two rows, the rest, round again
        table.reclaim(2)
        assert table.versions == left


def test_before_a_row_of_a_database_snapshot_nothing_is_known() -> None:
    row = Change("k", UPSERT, {"plan": "free"}, (), Version(10, b"1"), from_snapshot=True)
    table = Table("t", History(3, FOREVER))
    assert table.apply(row, 0, 0).from_us == BEGINNING_US
    assert table.as_of("k", 9).status == Status.HISTORY_EVICTED
    assert table.apply(upsert(5, plan="trial"), 0, 1)[2:] == (BEGINNING_US, 10)
    assert [table.as_of("k", t).status for t in (4, 5)] == [Status.MISSING, Status.MATCHED]


@given(st.permutations([upsert(10, plan="a"), upsert(10, plan="b"), upsert(10, plan="")]))
def test_of_changes_that_claim_one_version_the_same_one_wins_in_any_order(of: list[Change]) -> None:
    snapshot_row = Change("k", UPSERT, {"plan": "z"}, (), Version(10, b"1"), from_snapshot=True)
    table = filled(snapshot_row, *of)
    assert table.newest("k").columns == {"plan": "b"}
    assert table.versions == 1
    delete = Change("k", DELETE, {}, (), Version(10, b"1"))
    assert filled(*of[:2], delete, *of[2:]).newest("k").status == Status.DELETED


def test_a_place_that_no_log_has_is_refused() -> None:
    for partition, offset in ((-1, 0), (65_536, 0), (0, -1), (0, 2**48)):
        with pytest.raises(ValueError, match=f"partition {partition} with an offset {offset}"):
            Table("t", History(1, 0)).apply(upsert(1), partition, offset)
    table = Table("t", History(1, 0))
    table.apply(upsert(1), 65_535, 2**48 - 1)
    assert table.newest("k")[4:] == (65_535, 2**48 - 1)


def test_memory_is_counted_and_restored() -> None:
    table = filled(*(upsert(t, key=f"key {t}", name="x" * 100) for t in range(100)))
    assert 100 * 150 < table.memory_bytes < 100 * 400
    assert abs(Table.restored(table.image()).memory_bytes - table.memory_bytes) < 5_000
