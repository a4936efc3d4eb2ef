import json
from typing import Any

import pytest
from penstock.enrichment.intake import SkipReason
from penstock.enrichment.intake.envelope import RowRecord, TruncateRecord, read_key, read_value
from penstock.enrichment.intake.outcome import RefusedError
from penstock.enrichment.intake.stamp import Stamp
from penstock.tables.v1.rejected_change_pb2 import (
    CHANGE_REFUSAL_MALFORMED,
    CHANGE_REFUSAL_NO_VERSION,
    CHANGE_REFUSAL_UNKNOWN_OP,
)

SOURCE = {"connector": "postgresql", "ts_us": 1_700, "lsn": 7, "snapshot": "false"}


def envelope(**fields: Any) -> dict[str, Any]:
    return {"before": None, "after": {"id": 1}, "source": SOURCE, "op": "u", "transaction": None, **fields}


def read(value: object) -> RowRecord | TruncateRecord | SkipReason:
    return read_value(json.dumps(value).encode())


def refusal_of(value: object) -> tuple[int, str]:
    with pytest.raises(RefusedError) as refused:
        read(value)
    return refused.value.refusal


def test_an_envelope_with_a_schema_says_the_same() -> None:
    assert read({"schema": None, "payload": envelope()}) == read(envelope())
    assert read({"schema": None, "payload": None}) is SkipReason.TOMBSTONE


def test_a_schema_tells_the_scale_of_decimals() -> None:
    fields = [
        {"field": "id", "type": "int32"},
        {"field": "price", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}},
    ]
    schema = {"fields": [{"field": "before", "fields": []}, {"field": "after", "fields": fields}]}
    record = read({"schema": schema, "payload": envelope()})
    assert isinstance(record, RowRecord)
    assert record.scales == {"price": 2}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"ts_ms": 1_794_802_034_566}, SkipReason.HEARTBEAT),
        ({"status": "BEGIN", "id": "757:1", "event_count": None, "ts_ms": 1}, SkipReason.TRANSACTION_MARKER),
        ({"status": "END", "id": "757:1", "event_count": 3, "data_collections": []}, SkipReason.TRANSACTION_MARKER),
        ({"op": "m", "source": SOURCE, "message": {"prefix": "px", "content": "aA=="}}, SkipReason.LOGICAL_MESSAGE),
    ],
)
def test_what_is_beside_rows_is_skipped(value: object, reason: SkipReason) -> None:
    assert read(value) is reason


def test_a_row_that_looks_like_a_marker_is_still_a_flattened_row() -> None:
    reason, detail = refusal_of({"id": 1, "status": "BEGIN"})
    assert reason == CHANGE_REFUSAL_MALFORMED
    assert "ExtractNewRecordState" in detail


@pytest.mark.parametrize(
    ("source", "stamp"),
    [
        (SOURCE, Stamp(1_700, 7, from_snapshot=False)),
        ({**SOURCE, "ts_us": None, "ts_ns": 1_999}, Stamp(1, 7, from_snapshot=False)),
        ({"ts_ms": 2, "lsn": 7}, Stamp(2_000, 7, from_snapshot=False)),
        *(({**SOURCE, "snapshot": mark}, Stamp(1_700, 7, from_snapshot=True)) for mark in ("true", "last", True)),
        ({**SOURCE, "snapshot": "incremental", "lsn": 2**64 - 1}, Stamp(1_700, 2**64 - 1, from_snapshot=True)),
    ],
)
def test_a_stamp_is_as_precise_as_the_source(source: dict[str, Any], stamp: Stamp) -> None:
    record = read(envelope(source=source))
    assert isinstance(record, RowRecord)
    assert record.stamp == stamp


@pytest.mark.parametrize(
    "source",
    [{"ts_us": 1}, {"lsn": 1}, {**SOURCE, "lsn": None}, {**SOURCE, "lsn": "x"}, {**SOURCE, "ts_us": 0}, 5, None],
)
def test_a_change_that_cannot_be_ordered_is_refused(source: object) -> None:
    assert refusal_of(envelope(source=source))[0] == CHANGE_REFUSAL_NO_VERSION


def test_kinds_of_change() -> None:
    assert read(envelope(op="t", after=None)) == TruncateRecord(Stamp(1_700, 7, from_snapshot=False))
    deleted = read(envelope(op="d", after=None))
    assert isinstance(deleted, RowRecord)
    assert deleted.after is None
    assert refusal_of(envelope(op="x"))[0] == CHANGE_REFUSAL_UNKNOWN_OP
    assert refusal_of(envelope(op=["c"]))[0] == CHANGE_REFUSAL_UNKNOWN_OP
    assert refusal_of(envelope(after=None)) == (
        CHANGE_REFUSAL_MALFORMED,
        "op is 'u', but 'after' is null instead of a row",
    )


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (b"\x00\x00\x00\x00\x01abc", "JsonConverter"),
        (b"{", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"[1]", "instead of a JSON object"),
        (b"1" * 10_000, "no JSON"),
        (b"[" * 100_000, "nested"),
        (b'{"id": 1, "name": "ann", "__op": "u"}', "ExtractNewRecordState"),
        (b'{"op": "u", "after": {}}', "no 'source'"),
    ],
)
def test_what_is_no_envelope_is_refused_with_what_to_do(value: bytes, hint: str) -> None:
    with pytest.raises(RefusedError, match=hint) as refused:
        read_value(value)
    assert refused.value.refusal.reason == CHANGE_REFUSAL_MALFORMED


def test_details_are_short() -> None:
    assert len(refusal_of({f"column_{number}": 1 for number in range(500)})[1]) <= 500


def test_keys_come_with_and_without_schema() -> None:
    key = read_key(b'{"schema": {"fields": []}, "payload": {"id": 1}}')
    assert key == read_key(b'{"id": 1}')
    assert key is not None
    assert key.columns == {"id": 1}
    assert [read_key(none) for none in (None, b"null", b'{"schema": null, "payload": null}')] == [None] * 3
    columns = read_key(b'{"schema": "public", "payload": "x"}')  # a table may have such columns
    assert columns is not None
    assert columns.columns == {"schema": "public", "payload": "x"}
