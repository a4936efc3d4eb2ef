from __future__ import annotations

import json

from penstock.client.cli.letters import (
    CHANGES,
    EVENTS,
    UNREADABLE,
    decoded,
    indexes_by_place,
    known_reasons,
    letter_cells,
    letter_fields,
    letters_of,
)
from penstock.client.place import Place
from penstock.events.v1.event_pb2 import Event, Position
from penstock.events.v1.raw_batch_pb2 import (
    REFUSAL_REASON_MALFORMED,
    REFUSAL_REASON_UNKNOWN_TYPE,
    RejectedBatch,
    Rejection,
)
from penstock.tables.v1.rejected_change_pb2 import CHANGE_REFUSAL_NO_KEY, RejectedChange

NOON_US = 1_767_268_800_000_000  # 2026-01-01 12:00 UTC
BATCH = RejectedBatch(
    device_id="phone",
    boot_id="b",
    refused_by="enrichment",
    rejections=[
        Rejection(
            index=2,
            reason=REFUSAL_REASON_UNKNOWN_TYPE,
            detail="no\tsuch type",
            event=Event(type="t", seq=7).SerializeToString(),
            source=Position(topic="events.raw.v1", partition=3, offset=17),
        ),
        Rejection(index=4, reason=REFUSAL_REASON_MALFORMED, detail="no event", event=b"\xff"),
    ],
)
CHANGE = RejectedChange(
    table="profiles",
    source=Position(topic="cdc.app.profiles", partition=0, offset=5),
    reason=CHANGE_REFUSAL_NO_KEY,
    detail="NULL",
    key=b'{"id": null}',
    rejected_us=NOON_US + 1,
)
AT = Place(EVENTS, 1, 9)


def test_a_letter_per_refused_event() -> None:
    first, second = letters_of(AT, NOON_US, decoded(EVENTS, BATCH.SerializeToString()))
    assert letter_cells(first) == (
        "events.rejected.v1:1:9",
        "2026-01-01 12:00:00.000000Z",
        "enrichment",
        "UNKNOWN_TYPE",
        "phone",
        "t #7",
        "events.raw.v1:3:17",
        r"no\tsuch type",
    )
    assert (second.what, second.source, second.index) == ("(1 bytes that are no event)", None, 4)
    assert indexes_by_place([first, second]) == {AT: {2, 4}}


def test_a_letter_of_a_change() -> None:
    place = Place(CHANGES, 0, 1)
    (letter,) = letters_of(place, NOON_US, decoded(CHANGES, CHANGE.SerializeToString()))
    assert json.loads(json.dumps(letter_fields(letter))) == {
        "place": "changes.rejected.v1:0:1",
        "time": "2026-01-01 12:00:00.000001Z",
        "time_us": NOON_US + 1,
        "refused_by": "table-intake",
        "reason": "NO_KEY",
        "detail": "NULL",
        "table": "profiles",
        "what": '{"id": null}',
        "source": "cdc.app.profiles:0:5",
        "index": None,
    }
    assert indexes_by_place([letter]) == {place: set()}


def test_what_is_refused_again_is_the_same_letter() -> None:
    again = RejectedBatch()
    again.CopyFrom(BATCH)
    again.rejections[0].source.offset = 99
    first, other = letters_of(AT, NOON_US, BATCH)
    second, _ = letters_of(Place(EVENTS, 1, 10), NOON_US + 1, again)
    assert first.fingerprint == second.fingerprint != other.fingerprint
    again.boot_id = "another"
    assert next(letters_of(AT, NOON_US, again)).fingerprint != first.fingerprint


def test_a_record_that_cannot_be_read_is_listed_too() -> None:
    (letter,) = letters_of(AT, NOON_US, decoded(EVENTS, b"\xff"))
    assert (letter.reason, letter.place) == (UNREADABLE, AT)


def test_reasons() -> None:
    assert {"UNKNOWN_TYPE", "NO_KEY", "MALFORMED", UNREADABLE} <= set(known_reasons())
    assert "UNSPECIFIED" not in known_reasons()
