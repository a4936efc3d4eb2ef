from __future__ import annotations

import json

from penstock.client.cli.letter_text import shown, shown_fields
from penstock.client.cli.letters import CHANGES, EVENTS
from penstock.client.place import Place
from penstock.events.v1.event_pb2 import Event, Position
from penstock.events.v1.raw_batch_pb2 import REFUSAL_REASON_MALFORMED, RejectedBatch, Rejection
from penstock.tables.v1.rejected_change_pb2 import CHANGE_REFUSAL_MALFORMED, RejectedChange

NOON_US = 1_767_268_800_000_000  # 2026-01-01 12:00 UTC
EVENT = Event(type="t", id="mine", attributes={"b": "2", "a": "\n"}, data=b"\x00\x01", content_type="x/y")
BATCH = RejectedBatch(
    device_id="phone",
    boot_id="b",
    refused_by="enrichment",
    received_us=NOON_US,
    rejections=[
        Rejection(
            index=2,
            reason=REFUSAL_REASON_MALFORMED,
            detail="bad",
            event=EVENT.SerializeToString(),
            source=Position(topic="events.raw.v1", partition=3, offset=17),
        ),
        Rejection(index=4, reason=REFUSAL_REASON_MALFORMED, detail="worse", event=b"\xff"),
    ],
)
AT = Place(EVENTS, 1, 9)


def text(place: Place, said: RejectedBatch | RejectedChange | None) -> list[str]:
    return [line for line, _ in shown(place, NOON_US, said)]


def test_events() -> None:
    assert text(AT, BATCH) == [
        "events.rejected.v1:1:9",
        "  reason      MALFORMED: bad",
        "  set aside   2026-01-01 12:00:00.000000Z by enrichment",
        "  source      events.raw.v1:3:17, event 2 of its batch",
        "  device      phone, boot b",
        "  received    2026-01-01 12:00:00.000000Z",
        "  event       t mine",
        r"  attributes  a=\n",
        "              b=2",
        "  data        2 bytes of x/y",
        f"              0000  {'00 01':47}  ..",
        "",
        "  reason      MALFORMED: worse",
        "  set aside   2026-01-01 12:00:00.000000Z by enrichment",
        "  source      a request, event 4 of its batch",
        "  device      phone, boot b",
        "  received    2026-01-01 12:00:00.000000Z",
        f"  bytes       0000  {'ff':47}  .",
    ]
    first, second = (json.loads(json.dumps(fields)) for fields in shown_fields(AT, NOON_US, BATCH))
    assert (first["event"]["attributes"], first["event"]["data_base64"]) == ({"a": "\n", "b": "2"}, "AAE=")
    assert (second["event"], second["event_base64"]) == (None, "/w==")


def test_a_change() -> None:
    place = Place(CHANGES, 0, 0)
    source = Position(topic="cdc.app.profiles", partition=0, offset=5)
    change = RejectedChange(
        table="profiles", source=source, reason=CHANGE_REFUSAL_MALFORMED, key=b'{"id":1}', value=b"{", value_cut=True
    )
    assert text(place, change)[3:] == [
        "  source      cdc.app.profiles:0:5",
        "  table       profiles",
        '  key         {"id": 1}',
        "  value       {",
        "              (cut here; the whole is at the source, as long as that topic keeps it)",
    ]
    (fields,) = shown_fields(place, NOON_US, change)
    assert (fields["key_base64"], fields["value_base64"], fields["value_cut"]) == ("eyJpZCI6MX0=", "ew==", True)
    tombstone = RejectedChange(table="profiles")
    assert text(place, tombstone)[-2:] == ["  key         (none)", "  value       (none: a tombstone)"]


def test_many_events_are_not_all_shown() -> None:
    many = RejectedBatch(rejections=[Rejection(index=index) for index in range(60)])
    assert text(AT, many)[-1] == "… 10 more events; --json has them all"
    assert len(list(shown_fields(AT, NOON_US, many))) == 60


def test_what_cannot_be_read() -> None:
    assert text(AT, None)[1].startswith("  reason      UNREADABLE: ")
    assert [fields["reason"] for fields in shown_fields(AT, NOON_US, None)] == ["UNREADABLE"]
