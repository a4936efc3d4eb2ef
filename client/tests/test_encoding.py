from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.client.encoding import body_of, event_of, stream_request
from penstock.events.v1.event_pb2 import DeviceTime, Event
from penstock.ingest.v1.ingest_pb2 import PublishRequest, PublishStreamRequest


def test_event_of_sets_every_field() -> None:
    event = event_of("t", {"a": "1", "ü": "ß"}, b"\x00", 5, 6, {"id": "i", "content_type": "c", "traceparent": "p"})
    assert event == Event(
        type="t",
        attributes={"a": "1", "ü": "ß"},
        data=b"\x00",
        occurred=DeviceTime(wall_us=5, steady_us=6),
        id="i",
        content_type="c",
        traceparent="p",
    )


def test_no_steady_clock_is_not_a_steady_clock_at_zero() -> None:
    assert not event_of("t", None, b"", 5, None, {}).occurred.HasField("steady_us")
    assert event_of("t", None, b"", 5, 0, {}).occurred.HasField("steady_us")


BAD: list[tuple[Any, Any, Any, str]] = [
    (7, None, {}, "type of an event must be a string, not 7"),
    ("t", {"n": 7}, {}, "attribute 'n' of t must be a string, not 7"),
    ("t", {7: "n"}, {}, "attribute 7 of t must be a string"),
    ("t", None, {"seq": 7}, "unexpected argument: seq"),
    ("t", {"a": "\ud800"}, {}, "surrogates not allowed"),
]


@pytest.mark.parametrize(("event_type", "attributes", "extras", "message"), BAD)
def test_what_is_wrong_is_named(event_type: Any, attributes: Any, extras: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        event_of(event_type, attributes, b"", 1, 1, extras)


@given(
    bodies=st.lists(st.binary(max_size=300).map(lambda data: Event(data=data).SerializeToString()), max_size=5),
    batch_id=st.integers(1, 2**63),
)
def test_bytes_are_what_protobuf_would_make(bodies: list[bytes], batch_id: int) -> None:
    head = PublishRequest(device_id="d")
    whole = PublishRequest(device_id="d", events=[Event.FromString(body) for body in bodies])
    request = head.SerializeToString() + body_of(bodies)
    assert PublishRequest.FromString(request) == whole
    framed = PublishStreamRequest.FromString(stream_request(batch_id, request))
    assert framed == PublishStreamRequest(batch_id=batch_id, batch=whole)
