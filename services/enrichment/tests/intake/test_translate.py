"""What each kind of record becomes, and what the table then holds."""

from typing import Any

import pytest
from penstock.enrichment.intake import KeylessTableError, SkipReason, TableRows, Translator
from penstock.enrichment.tables import History, Status, Table
from penstock.pipeline import load
from penstock.tables.v1.rejected_change_pb2 import (
    CHANGE_REFUSAL_MALFORMED,
    CHANGE_REFUSAL_NO_KEY,
    CHANGE_REFUSAL_TOO_LARGE,
    CHANGE_REFUSAL_UNREADABLE_VALUE,
)
from penstock.tables.v1.row_change_pb2 import OP_DELETE, OP_TRUNCATE, OP_UPSERT

# Of conftest.py.
Debezium = Any
Intake = Any

GONE = "__debezium_unavailable_value"
BIG = "b" * 9_000


def test_a_change_says_which_row_when_and_from_where(intake: Intake, debezium: Debezium) -> None:
    [translation] = intake.take(debezium.upsert(1, 5, name="ann", op="c"))
    [change] = translation.changes
    assert (change.table, change.key, change.op) == ("profiles", "1", OP_UPSERT)
    assert dict(change.columns) == {"id": "1", "name": "ann"}
    assert (change.version.valid_from_us, change.version.position) == (50, (5).to_bytes(8, "big"))
    assert (change.source.topic, change.source.partition, change.source.offset) == ("cdc.app.profiles", 0, 1)
    assert not change.from_snapshot


def test_insert_update_and_delete_are_seen_as_of_their_times(intake: Intake, debezium: Debezium) -> None:
    intake.take(
        debezium.upsert(1, 5, name="ann", op="c"),
        debezium.upsert(1, 6, name="anna"),
        debezium.delete(1, 7),
        debezium.tombstone(1),
    )
    assert [intake.row("1", t) for t in (50, 60, 70)] == [{"id": "1", "name": "ann"}, {"id": "1", "name": "anna"}, None]
    assert intake.found("1").status is Status.DELETED
    assert [change.op for change in intake.log] == [OP_UPSERT, OP_UPSERT, OP_DELETE]
    assert intake.translator.counts.skipped == {SkipReason.TOMBSTONE: 1}


def test_only_listed_columns_are_kept_and_missing_ones_counted(make_intake: Any, debezium: Debezium) -> None:
    intake = make_intake(columns=("name", "plan"))
    intake.take(debezium.upsert(1, 5, name="ann", secret="x"))
    assert intake.row("1") == {"name": "ann"}
    assert intake.translator.counts.columns_absent == 1


def test_null_is_no_value_and_new_and_dropped_columns_come_and_go(intake: Intake, debezium: Debezium) -> None:
    intake.take(debezium.upsert(1, 5, name=None, tags=["x"]), debezium.upsert(1, 6, name="ann", city="paris"))
    assert intake.row("1", 50) == {"id": "1", "tags": '["x"]'}
    assert intake.row("1", 60) == {"id": "1", "name": "ann", "city": "paris"}


@pytest.mark.parametrize("lagging", [False, True])
def test_a_value_that_was_left_out_is_the_one_before(intake: Intake, debezium: Debezium, *, lagging: bool) -> None:
    """Whether the log came back already or not."""
    translations = intake.send(debezium.upsert(1, 5, bio=BIG, op="c"))
    if not lagging:
        intake.commit(translations)
        intake.apply()
    intake.take(debezium.upsert(1, 6, name="ann", bio=GONE))
    assert intake.row("1") == {"id": "1", "name": "ann", "bio": BIG}
    assert intake.translator.counts.columns_kept == 1


def test_a_value_that_nobody_knows_is_unknown_and_counted(intake: Intake, debezium: Debezium) -> None:
    [translation] = intake.take(debezium.upsert(1, 6, name="ann", bio=GONE))
    assert list(translation.changes[0].unknown_columns) == ["bio"]
    assert intake.found("1").unknown == ("bio",)
    assert intake.row("1") == {"id": "1", "name": "ann"}
    assert intake.translator.counts.columns_unknown == 1


def test_a_value_that_was_null_cannot_be_the_one_that_was_left_out(intake: Intake, debezium: Debezium) -> None:
    intake.take(debezium.upsert(1, 5, bio=None, op="c"))
    [translation] = intake.take(debezium.upsert(1, 6, bio=GONE))
    assert list(translation.changes[0].unknown_columns) == ["bio"]


def test_a_value_is_not_taken_from_a_row_that_was_deleted_in_between(intake: Intake, debezium: Debezium) -> None:
    intake.take(debezium.upsert(1, 5, bio=BIG, op="c"), debezium.delete(1, 6), debezium.upsert(1, 7, bio=GONE))
    assert intake.found("1").unknown == ("bio",)


def test_a_change_of_the_key_moves_the_row_with_what_the_create_leaves_out(intake: Intake, debezium: Debezium) -> None:
    """Also what an update in the same transaction has just set."""
    intake.take(debezium.upsert(1, 5, bio="old" * 3_000, op="c"))
    intake.take(
        debezium.upsert(1, 6, ts=80, bio=BIG),
        debezium.delete(1, 8, ts=80),
        debezium.tombstone(1),
        debezium.upsert(2, 8, ts=80, bio=GONE, op="c"),
    )
    assert intake.row("1") is None
    assert intake.row("2") == {"id": "2", "bio": BIG}
    assert intake.found("2", 79).status is Status.MISSING


def test_a_create_that_comes_before_its_delete_knows_no_more_than_it_says(intake: Intake, debezium: Debezium) -> None:
    """The old key may be in another partition, with changes that were not read yet: its row of now proves nothing."""
    intake.take(debezium.upsert(1, 5, bio=BIG, op="c"))
    intake.take(debezium.upsert(2, 8, bio=GONE, op="c"), partition=1)
    assert intake.found("2").unknown == ("bio",)


def test_after_a_refused_change_values_that_are_left_out_are_unknown(intake: Intake, debezium: Debezium) -> None:
    """The refused change may have set them."""
    intake.take(debezium.upsert(1, 5, bio=BIG, op="c"))
    refused, update, full, again = intake.take(
        debezium.upsert(1, 6, bio="\ud800"),
        debezium.upsert(1, 7, bio=GONE),
        debezium.upsert(1, 8, bio="new"),
        debezium.upsert(1, 9, bio=GONE),
    )
    assert refused.refusal.reason == CHANGE_REFUSAL_UNREADABLE_VALUE
    assert list(update.changes[0].unknown_columns) == ["bio"]
    assert again.changes[0].columns["bio"] == full.changes[0].columns["bio"] == "new"


def test_a_truncate_empties_the_table_and_spares_what_is_newer(intake: Intake, debezium: Debezium) -> None:
    intake.take(debezium.upsert(1, 5, name="ann"), debezium.upsert(2, 9, name="bob"))
    [translation] = intake.take(debezium.truncate(8))
    assert [(change.op, change.key) for change in translation.changes] == [(OP_TRUNCATE, "")]
    assert intake.row("1") is None
    assert intake.row("1", 79) is not None
    assert intake.row("2") == {"id": "2", "name": "bob"}


def test_a_value_is_not_taken_from_before_a_truncate(intake: Intake, debezium: Debezium) -> None:
    intake.take(debezium.upsert(1, 5, bio=BIG), debezium.truncate(6), debezium.upsert(1, 7, bio=GONE))
    assert intake.found("1").unknown == ("bio",)


def test_a_row_that_is_older_than_a_truncate_and_comes_later_stays_in_the_past(
    intake: Intake, debezium: Debezium
) -> None:
    """A truncate is in one partition, without order to the rows of the others."""
    intake.take(debezium.upsert(1, 4, name="a"))
    intake.take(debezium.truncate(8))
    intake.take(debezium.upsert(1, 6, name="ann"), partition=1)
    assert intake.row("1", 79) == {"id": "1", "name": "ann"}
    assert intake.row("1") is None


def test_a_row_that_was_written_after_a_truncate_by_a_clock_set_back_is_there(
    intake: Intake, debezium: Debezium
) -> None:
    intake.take(debezium.truncate(8, ts=100), debezium.upsert(1, 9, ts=90, name="ann", op="c"))
    assert intake.row("1") == {"id": "1", "name": "ann"}
    assert intake.translator.counts.times_raised == 1


def test_poison_is_refused_with_a_reason_and_the_rest_goes_on(intake: Intake, debezium: Debezium) -> None:
    good = debezium.upsert(1, 5, name="ann")
    no_json, no_key, good_one = intake.take(
        (good[0], b"{nope"), (b'{"id": null}', debezium.upsert(1, 6, name="x")[1]), good
    )
    assert no_json.refusal.reason == CHANGE_REFUSAL_MALFORMED
    assert "no JSON" in no_json.refusal.detail
    assert no_key.refusal.reason == CHANGE_REFUSAL_NO_KEY
    assert good_one.changes
    assert intake.translator.counts.refused == {CHANGE_REFUSAL_MALFORMED: 1, CHANGE_REFUSAL_NO_KEY: 1}


def test_a_row_that_does_not_fit_its_topic_is_refused(make_intake: Any, debezium: Debezium) -> None:
    intake = make_intake(change_bytes_max=1_000)
    [translation] = intake.take(debezium.upsert(1, 5, bio=BIG))
    assert translation.refusal.reason == CHANGE_REFUSAL_TOO_LARGE
    assert "without the large ones" in translation.refusal.detail


def test_a_table_without_a_key_stops_the_intake(intake: Intake, debezium: Debezium) -> None:
    with pytest.raises(KeylessTableError, match=r"cdc\.app\.profiles\[0\]@1 .*PRIMARY KEY.*REPLICA IDENTITY"):
        intake.send((None, debezium.upsert(1, 5, name="ann")[1]))


def test_a_table_of_events_is_not_for_the_intake() -> None:
    rows = TableRows(Table("posts", History(1, 0)))
    with pytest.raises(ValueError, match="made of events"):
        Translator("posts", load().tables["posts"], rows)


def test_composite_keys_follow_the_pipeline_not_the_record(make_intake: Any, debezium: Debezium) -> None:
    intake = make_intake(key=("region", "id"))
    intake.take(debezium.row("c", {"id": 7, "region": "eu/w"}, {"id": 7, "region": "eu/w"}, lsn=5, ts=50))
    assert intake.row("eu%2Fw/7") == {"id": "7", "region": "eu/w"}
