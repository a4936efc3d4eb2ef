from __future__ import annotations

from collections.abc import Callable

import pytest
from penstock.events.v1.event_pb2 import Event
from penstock.events.v1.raw_batch_pb2 import RawBatch, RefusalReason, Stamp
from penstock.ingest.v1.ingest_pb2 import PublishRequest
from penstock.ingestion import wire
from penstock.ingestion.errors import BadRequest
from penstock.ingestion.gate import Gate


def post(**changes: object) -> Event:
    event = Event(type="post.created", seq=1, attributes={"author": "ann", "post_id": "p1"})
    event.MergeFrom(Event(**changes))  # type: ignore[arg-type]  # fields by name
    return event


def request(*events: Event, device_id: str = "d", boot_id: str = "b") -> bytes:
    return PublishRequest(device_id=device_id, boot_id=boot_id, events=events).SerializeToString()


REFUSED: list[tuple[Event, str, str]] = [
    (
        post(type="post.creatd"),
        "UNKNOWN_TYPE",
        "'post.creatd' is not declared in pipeline.yaml; declared: follow.created",
    ),
    (Event(type="post.created", seq=1, attributes={"author": "ann"}), "MISSING_ATTRIBUTE", "'post_id' is required"),
    (post(attributes={"post_id": ""}), "MISSING_ATTRIBUTE", "must not be empty"),
    (Event(type="post.created", attributes={"author": "a", "post_id": "p"}), "NO_IDENTITY", "neither seq nor id"),
    (post(attributes={"a": "1", "b": "2", "c": "3"}), "TOO_MANY_ATTRIBUTES", "5 attributes: at most 4"),
    (post(attributes={"": "x"}), "ATTRIBUTE_NAME_SIZE", "has 0 bytes: 1 to 10"),
    (post(attributes={"far_too_long": "x"}), "ATTRIBUTE_NAME_SIZE", "has 12 bytes"),
    (post(attributes={"text": "x" * 21}), "ATTRIBUTE_VALUE_SIZE", "attribute 'text' has 21 bytes: at most 20"),
    (post(data=b"x" * 31), "DATA_SIZE", "data has 31 bytes: at most 30"),
    (post(id="x" * 129), "FIELD_SIZE", "field id is larger"),
    (post(seq=2**63), "FIELD_SIZE", "field seq is larger"),
    (post(device_id="forged"), "FORBIDDEN_FIELD", "field device_id is not one that a device may set"),
    (post(revision=3), "FORBIDDEN_FIELD", "field revision"),
]


@pytest.mark.parametrize(("event", "reason", "words"), REFUSED, ids=[f"{r}-{w[:14]}" for _, r, w in REFUSED])
def test_a_refused_event_says_why_and_its_neighbours_pass(gate: Gate, event: Event, reason: str, words: str) -> None:
    raw = request(post(seq=1), event, post(seq=3))
    found = gate.inspect(raw)
    rows = found.rows.tolist()
    assert [row[wire.CODE] for row in rows] == [0, RefusalReason.Value(f"REFUSAL_REASON_{reason}"), 0]
    assert words in gate.detail(raw, rows[1])
    assert found.passed == 2
    assert found.run is None


def test_an_event_that_is_none_is_refused_alone(gate: Gate) -> None:
    raw = request(post(seq=1)) + b"\x32\x02\x0a\x7f" + request(post(seq=2), device_id="d")
    found = gate.inspect(raw)
    assert [row[wire.CODE] for row in found.rows.tolist()] == [0, wire.MALFORMED, 0]
    assert gate.detail(raw, found.rows[1].tolist()) == "not a penstock.events.v1.Event: field id cannot be read"


def test_an_unbroken_run_of_numbers_is_recognised(gate: Gate) -> None:
    assert gate.inspect(request(post(seq=7), post(seq=8), post(seq=9))).run == (7, 9)
    assert gate.inspect(request(post(seq=7), post(seq=9))).run is None
    assert gate.inspect(request(post(seq=7), post(seq=8, boot_id="other"))).run is None
    assert gate.inspect(request(post(seq=7), post(seq=8, boot_id="b"))).run == (7, 8)
    assert gate.inspect(request()).run is None


WHOLE: list[tuple[Callable[[], bytes], str]] = [
    (lambda: b"", "device_id is required"),
    (lambda: request(post(), device_id=""), "device_id has 0 bytes"),
    (lambda: request(device_id="x" * 129), "device_id has 129 bytes: 1 to 128"),
    (lambda: request(boot_id="x" * 65), "boot_id has 65 bytes: at most 64"),
    (lambda: request(*[post()] * 51), "more than 50 events"),
    (lambda: request() + b"\0" * 20_000, "20,006 bytes: at most 20,000"),
    (
        lambda: request() + RawBatch(stamp=Stamp(received_us=1)).SerializeToString(),
        "field number 16 is not one that a client may",
    ),
    (lambda: request()[:-1], "field boot_id is longer than the bytes that are left"),
    (lambda: request() + b"\x08\x01", "field device_id is not length-delimited"),
    (lambda: request() + b"\x0a\x01\xff", "content of field device_id is not of its type"),
    (lambda: request() + b"\x1a\x01\x08", "content of field sent is not of its type"),
    (lambda: request() + b"\x00", "byte 6: no field starts here"),
]


@pytest.mark.parametrize(("make", "words"), WHOLE, ids=[words[:24] for _, words in WHOLE])
def test_a_request_that_is_none_is_refused_with_the_place(gate: Gate, make: Callable[[], bytes], words: str) -> None:
    with pytest.raises(BadRequest) as caught:
        gate.inspect(make())
    assert words in caught.value.detail
    assert caught.value.retry_after_ms is None


def test_codes_are_the_numbers_of_the_proto() -> None:
    names = {"NAME_SIZE": "ATTRIBUTE_NAME_SIZE", "VALUE_SIZE": "ATTRIBUTE_VALUE_SIZE"}
    codes = ["MALFORMED", "NO_IDENTITY", "UNKNOWN_TYPE", "MISSING_ATTRIBUTE", "TOO_MANY_ATTRIBUTES", "NAME_SIZE"]
    for name in [*codes, "VALUE_SIZE", "DATA_SIZE", "FORBIDDEN_FIELD", "FIELD_SIZE"]:
        assert getattr(wire, name) == RefusalReason.Value(f"REFUSAL_REASON_{names.get(name, name)}")


def test_the_request_and_the_log_share_their_fields() -> None:
    """What makes it right to append the stamp to the request's bytes."""
    ours = {field.number: field for field in PublishRequest.DESCRIPTOR.fields}
    log = {field.number: field for field in RawBatch.DESCRIPTOR.fields if field.number < 16}
    assert {n: (f.name, f.type) for n, f in ours.items()} == {n: (f.name, f.type) for n, f in log.items()}
