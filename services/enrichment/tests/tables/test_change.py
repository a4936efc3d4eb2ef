from __future__ import annotations

import pytest
from penstock.enrichment.tables import (
    DELETE,
    TRUNCATE,
    UPSERT,
    Applied,
    BadChangeError,
    Change,
    History,
    Status,
    Version,
    change_of,
)
from penstock.events.v1.event_pb2 import EnrichmentStatus, RowVersion
from penstock.tables.v1.row_change_pb2 import Op, RowChange


def test_the_numbers_are_those_of_the_protos() -> None:
    assert (UPSERT, DELETE, TRUNCATE) == (Op.OP_UPSERT, Op.OP_DELETE, Op.OP_TRUNCATE)
    for status in Status:
        assert EnrichmentStatus.Value(f"ENRICHMENT_STATUS_{status.name}") == int(status)
    assert len(Status) == len(EnrichmentStatus.keys()) - 1, "all but UNSPECIFIED"


def test_a_message_is_read_whole() -> None:
    message = RowChange(
        table="profiles",
        key="alice",
        op=Op.OP_UPSERT,
        columns={"plan": "free"},
        unknown_columns=["bio"],
        version=RowVersion(valid_from_us=7, position=b"\1"),
        from_snapshot=True,
        error_bound_us=3,  # of the time; which of two versions counts does not depend on it
    )
    change = change_of(RowChange.FromString(message.SerializeToString()))
    assert change._replace(unknown=tuple(change.unknown)) == Change(
        "alice", UPSERT, {"plan": "free"}, ("bio",), Version(7, b"\1"), True
    )


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (RowChange(key="alice"), "has op 0, which this release does not know"),
        (RowChange(key="alice", op=Op.OP_TRUNCATE + 1), "has op 4"),  # type: ignore[arg-type]  # of a later release
        (RowChange(op=Op.OP_DELETE), "has no key"),
        (RowChange(key="a", op=Op.OP_UPSERT, version=RowVersion(position=bytes(65_536))), "more than 65535 bytes"),
    ],
)
def test_what_no_table_can_take_is_refused_by_name(message: RowChange, fault: str) -> None:
    message.table = "profiles"
    with pytest.raises(BadChangeError, match=f"a change of table 'profiles', key '.*', .*{fault}"):
        change_of(message)


def test_a_truncate_needs_no_key() -> None:
    assert change_of(RowChange(op=Op.OP_TRUNCATE)).op == TRUNCATE


def test_versions_are_ordered_by_time_then_by_position_as_bytes() -> None:
    assert Version(1, b"\xff") < Version(2, b"") < Version(2, b"\1\xff") < Version(2, b"\2")


def test_a_change_affects_its_key_in_its_time_and_a_truncate_every_key() -> None:
    applied = Applied(True, "alice", 5, 8)
    assert [applied.affects("alice", t_us) for t_us in (4, 5, 7, 8)] == [False, True, True, False]
    assert not applied.affects("bob", 5)
    assert Applied(True, None, 5, 8).affects("bob", 5)


@pytest.mark.parametrize(("versions_max", "age_us_max"), [(0, 1), (10_001, 1), (1, -1)])
def test_a_history_that_makes_no_sense_is_refused(versions_max: int, age_us_max: int) -> None:
    with pytest.raises(ValueError, match="should be"):
        History(versions_max, age_us_max)
