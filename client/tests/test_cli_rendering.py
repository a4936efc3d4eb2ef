from __future__ import annotations

import json

from penstock.client.cli.rendering import entries
from penstock.events.v1.event_pb2 import (
    CLOCK_DOMAIN_WALL,
    CLOCK_METHOD_ECHO,
    CLOCK_METHOD_NAIVE,
    Clock,
    DeviceTime,
    Enrichment,
    Event,
)
from penstock.events.v1.raw_batch_pb2 import REFUSAL_REASON_DATA_SIZE, RawBatch, RejectedBatch, Rejection, Stamp
from penstock.tables.v1.row_change_pb2 import OP_UPSERT, RowChange

NOON_US = 1_767_268_800_000_000  # 2026-01-01 12:00 UTC
HOUR_US = 3_600_000_000


def test_raw_batch_event_by_event() -> None:
    occurred = DeviceTime(wall_us=NOON_US - HOUR_US)
    batch = RawBatch(
        device_id="phone",
        boot_id="b",
        sent=DeviceTime(wall_us=NOON_US - HOUR_US),
        events=[
            Event(
                type="page.viewed",
                seq=7,
                occurred=occurred,
                attributes={"b": "2", "a": "1"},
            ),
            Event(type="nope", id="mine", occurred=occurred, data=b"xyz"),
        ],
        stamp=Stamp(
            received_us=NOON_US + 1000,
            method=CLOCK_METHOD_ECHO,
            domain=CLOCK_DOMAIN_WALL,
            offset_us=HOUR_US,
            offset_min_us=HOUR_US - 500,
            offset_max_us=HOUR_US + 500,
            drift_ppm_max=200,
            refused=[1],
        ),
    )
    first, second = entries(batch)
    assert first.text == "2026-01-01 12:00:00.000000Z ± 500 µs ECHO phone #7 page.viewed a=1 b=2"
    assert (first.refused, first.fields["error_bound_us"], first.fields["boot_id"]) == (False, 500, "b")
    assert json.loads(json.dumps(first.fields)) == {
        "device_id": "phone",
        "boot_id": "b",
        "seq": 7,
        "id": "",
        "type": "page.viewed",
        "attributes": {"a": "1", "b": "2"},
        "data_base64": "",
        "refused": False,
        "occurred_us": {"wall": NOON_US - HOUR_US, "steady": None},
        "sent_us": {"wall": NOON_US - HOUR_US, "steady": None},
        "received_us": NOON_US + 1000,
        "corrected": "2026-01-01 12:00:00.000000Z",
        "corrected_us": NOON_US,
        "error_bound_us": 500,
        "method": "ECHO",
        "domain": "WALL",
        "offset_us": HOUR_US,
        "clamped": False,
        "spans_clock_set": False,
    }
    assert second.text == "REFUSED 2026-01-01 12:00:00.000000Z ± 500 µs ECHO phone mine nope (3 bytes of data)"
    assert second.refused
    assert second.fields["refused"]


def test_rejected_batch_with_reasons() -> None:
    allowed = "data has 9,000 bytes: at most 8,192 are allowed"
    good = Rejection(
        index=3, reason=REFUSAL_REASON_DATA_SIZE, detail=allowed, event=Event(type="t").SerializeToString()
    )
    garbage = Rejection(index=4, detail="??", event=b"\xff")
    batch = RejectedBatch(device_id="d", received_us=NOON_US, refused_by="ingestion", rejections=[good, garbage])
    first, second = entries(batch)
    assert first.text == f"REFUSED 2026-01-01 12:00:00.000000Z d t DATA_SIZE: {allowed} (refused by ingestion)"
    assert "(1 bytes that are no event)" in second.text
    assert (first.fields["index"], first.fields["reason"], first.fields["refused_by"]) == (3, "DATA_SIZE", "ingestion")


def test_reason_of_a_newer_service_is_its_number() -> None:
    newer = RejectedBatch.FromString(b"\x2a\x02\x10\x63")  # one rejection, of reason 99
    (entry,) = entries(newer)
    assert entry.fields["reason"] == "reason 99"


def test_enriched_event() -> None:
    clock = Clock(corrected_us=NOON_US, method=CLOCK_METHOD_NAIVE, clamped=True, spans_clock_set=True)
    joined = Enrichment(name="profile", columns={"city": "Rome"})
    event = Event(type="t", seq=1, device_id="d", key="k", revision=2, clock=clock, enrichments=[joined])
    (entry,) = entries(event)
    assert entry.text == "2026-01-01 12:00:00.000000Z ± ? NAIVE/clamped/clock-set d #1 t [profile.city=Rome]"
    assert (entry.fields["key"], entry.fields["revision"], entry.fields["error_bound_us"]) == ("k", 2, None)


def test_other_messages() -> None:
    (entry,) = entries(RowChange(table="posts", key="p1", op=OP_UPSERT))
    assert entry.text == "table=posts key=p1 op=OP_UPSERT"


def test_devices_do_not_steer_the_terminal() -> None:
    (entry,) = entries(Event(type="t", attributes={"a": "\x1b[2Jä\n"}, clock=Clock(corrected_us=NOON_US)))
    assert entry.text.endswith(r"a=\x1b[2Jä\n")
    assert entry.fields["attributes"] == {"a": "\x1b[2Jä\n"}
