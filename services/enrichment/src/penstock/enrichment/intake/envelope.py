"""Reads a record of a cdc topic: what Debezium's envelope says, before anything is made of it.

In:  key and value of a record, as Kafka Connect's JsonConverter writes them, with or without schemas.
Out: a `RowRecord` or a `TruncateRecord`, a reason to skip it, or RefusedError.
`before` is not read: under PostgreSQL's default replica identity its columns are fabricated, but for the key, and the
key is the record's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, cast

from penstock.enrichment.intake.outcome import RefusedError, SkipReason
from penstock.enrichment.intake.schema import scales_of, unwrap
from penstock.enrichment.intake.stamp import Stamp, stamp_of
from penstock.enrichment.intake.values import load_json
from penstock.tables.v1.rejected_change_pb2 import CHANGE_REFUSAL_MALFORMED, CHANGE_REFUSAL_UNKNOWN_OP

Fields = Mapping[str, object]

_CREATE_UPDATE_READ: Final = frozenset("cur")
_HEARTBEAT: Final = {"ts_ms", "ts_us", "ts_ns"}
_MARKER: Final = {"status", "id"}
_REGISTRY: Final = b"\0"
_NULL: Final = b"null"
SHOWN_MAX: Final = 40


class RowRecord(NamedTuple):
    """A change of a row; `after` is None where it was deleted."""

    op: str
    after: Fields | None
    scales: Mapping[str, int]
    stamp: Stamp


class TruncateRecord(NamedTuple):
    """All rows of the table are gone."""

    stamp: Stamp


class RecordKey(NamedTuple):
    """The columns that name the row."""

    columns: Fields
    scales: Mapping[str, int]


def read_value(value: bytes | None) -> RowRecord | TruncateRecord | SkipReason:
    """What happened. Whatever is not about a row is told apart first: it has other keys, or none."""
    if value is None:
        return SkipReason.TOMBSTONE
    envelope, schema = unwrap(_object(value, "value"))
    if envelope is None:
        return SkipReason.TOMBSTONE
    if (reason := _beside_rows(envelope)) is not None:
        return reason
    op = envelope.get("op")
    if op is None or "source" not in envelope:
        raise _malformed(_not_an_envelope(envelope))
    if op == "t":
        return TruncateRecord(stamp_of(envelope))
    if op == "d":
        return RowRecord("d", None, {}, stamp_of(envelope))
    if not isinstance(op, str) or op not in _CREATE_UPDATE_READ:
        raise RefusedError(CHANGE_REFUSAL_UNKNOWN_OP, f"op is {_shown(op)}; known are c, u, d, r, t and m")
    after = envelope.get("after")
    if not isinstance(after, dict):
        raise _malformed(f"op is '{op}', but 'after' is {_shown(after)} instead of a row")
    return RowRecord(op, after, scales_of(schema, "after") if schema else {}, stamp_of(envelope))


def read_key(key: bytes | None) -> RecordKey | None:
    """The key's columns; None if there is no key, whatever way that is said."""
    if key is None or key == _NULL:
        return None
    columns, schema = unwrap(_object(key, "key"))
    return RecordKey(columns, scales_of(schema) if schema else {}) if columns else None


def _beside_rows(envelope: Fields) -> SkipReason | None:
    if envelope.get("op") == "m" and "message" in envelope:
        return SkipReason.LOGICAL_MESSAGE
    if "op" in envelope:
        return None
    if envelope and envelope.keys() <= _HEARTBEAT:
        return SkipReason.HEARTBEAT
    if envelope.keys() >= _MARKER and envelope["status"] in ("BEGIN", "END") and "event_count" in envelope:
        return SkipReason.TRANSACTION_MARKER
    return None


def _not_an_envelope(envelope: Fields) -> str:
    if "op" in envelope:
        return "the value has an 'op' but no 'source': the envelope was taken apart on its way"
    return (
        f"the value has the fields {_shown(sorted(envelope))} and is no Debezium envelope. If they are the table's"
        " columns, the connector flattens its records: remove the transform ExtractNewRecordState"
    )


def _object(text: bytes, what: str) -> Fields:
    if text.startswith(_REGISTRY):
        raise _malformed(
            f"the {what} begins with byte 0, as records that need a schema registry do: let the connector use"
            " org.apache.kafka.connect.json.JsonConverter"
        )
    try:
        parsed = load_json(text)
    except ValueError as error:
        raise _malformed(f"the {what} is no JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise _malformed(f"the {what} is {_shown(parsed)} instead of a JSON object")
    return cast(Fields, parsed)


def _malformed(detail: str) -> RefusedError:
    return RefusedError(CHANGE_REFUSAL_MALFORMED, detail)


def _shown(value: object) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "…"
