"""Bytes of events and requests.

In:  what the caller said about an event; the encoded events of a batch.
Out: an Event ready to be numbered, and the two parts of a PublishRequest: a head that is made
     anew for every attempt (time of sending, clock token) and a body that is encoded once.
Protobuf does not care for the order of fields, so that head + body is a PublishRequest. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

from penstock.client.excerpt import excerpt
from penstock.client.reading import Reading
from penstock.events.v1.event_pb2 import Event
from penstock.events.v1.raw_batch_pb2 import RawBatchView
from penstock.ingest.v1.ingest_pb2 import PublishRequest

# Tag and length that frame an event in its batch take at most this much.
FRAME_BYTES_MAX = 6
_BATCH_ID_TAG = b"\x08"
_BATCH_TAG = b"\x12"


class Extras(TypedDict, total=False):
    """What else an event may say about itself."""

    id: str
    content_type: str
    traceparent: str
    tracestate: str


def event_of(
    event_type: str,
    attributes: Mapping[str, str] | None,
    data: bytes,
    wall_us: int,
    steady_us: int | None,
    extras: Extras,
) -> Event:
    """An event without its number; `extras` are its other string fields."""
    event = Event()  # and then field by field: faster than keyword arguments
    try:
        event.type = event_type
        moment = event.occurred
        moment.wall_us = wall_us
        if steady_us is not None:
            moment.steady_us = steady_us
        if attributes:
            entries = event.attributes
            for name, value in attributes.items():
                entries[name] = value
        if data:
            event.data = data
        if extras:
            if not extras.keys() <= Extras.__annotations__.keys():
                raise TypeError("unexpected argument")
            event.MergeFrom(Event(**extras))
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(_fault(event_type, attributes, extras) or f"{excerpt(event_type)}: {error}") from error
    return event


def _fault(event_type: object, attributes: Mapping[str, str] | None, extras: Extras) -> str | None:
    if not isinstance(event_type, str):
        return f"the type of an event must be a string, not {excerpt(repr(event_type))}"
    for name, value in (attributes or {}).items():
        if not isinstance(name, str) or not isinstance(value, str):
            named = f"attribute {excerpt(repr(name))} of {excerpt(event_type)}"
            return f"{named} must be a string, not {excerpt(repr(value))}"
    if unknown := extras.keys() - Extras.__annotations__.keys():
        return f"publish() got an unexpected argument: {', '.join(sorted(unknown))}"
    return None


def body_of(events: Iterable[bytes]) -> bytes:
    """The events' part of a PublishRequest; RawBatchView has the same field number for them."""
    return RawBatchView(events=events).SerializeToString()


def set_sent(request: PublishRequest, sent: Reading) -> None:
    """Stamps the time of sending."""
    request.ClearField("sent")
    request.sent.wall_us = sent.wall_us
    if sent.steady_us is not None:
        request.sent.steady_us = sent.steady_us


def set_echo(request: PublishRequest, token: bytes, arrived: Reading) -> None:
    """Echoes the token of a reply, with the time at which the reply arrived."""
    request.clock_token = token
    request.ClearField("reply_received")
    request.reply_received.wall_us = arrived.wall_us
    if arrived.steady_us is not None:
        request.reply_received.steady_us = arrived.steady_us


def stream_request(batch_id: int, request: bytes) -> bytes:
    """A PublishStreamRequest around the bytes of a PublishRequest."""
    return b"".join((_BATCH_ID_TAG, _varint(batch_id), _BATCH_TAG, _varint(len(request)), request))


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
