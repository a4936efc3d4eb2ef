"""Records as people and programs read them.

In:  a record's value, decoded as the map of topics says.
Out: entries, one per event: a line of text, and an object for JSON. Pure.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError, Message
from penstock.client.cli.times import bound_text, bound_us, time_fields, time_text
from penstock.client.estimate import method_name
from penstock.client.receipt import reason_name
from penstock.clock import batch_clock, clock_of, correct_event
from penstock.events.v1.event_pb2 import Clock, Event
from penstock.events.v1.raw_batch_pb2 import RawBatch, RejectedBatch


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to show."""

    text: str
    fields: dict[str, Any]
    refused: bool = False
    parts: tuple[tuple[str, str], ...] = field(default=())
    """The text again, as (text, style) pairs for a terminal."""


def visible(text: str) -> str:
    """What a device sent must not steer the terminal: control characters are shown as escapes."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def entries(message: Message, zone: tzinfo | None = UTC) -> Iterator[Entry]:
    """One entry per event or, for other messages, one per record."""
    if isinstance(message, RawBatch):
        yield from _raw(message, zone)
    elif isinstance(message, RejectedBatch):
        yield from _rejected(message, zone)
    elif isinstance(message, Event):
        yield _event(message, message.clock, message.device_id, zone, refused=False)
    else:
        fields = MessageToDict(message, preserving_proto_field_name=True)
        yield Entry(visible(" ".join(f"{name}={value}" for name, value in fields.items())), fields)


def _raw(batch: RawBatch, zone: tzinfo | None) -> Iterator[Entry]:
    refused = set(batch.stamp.refused)
    clock = batch_clock(batch.sent, batch.stamp)
    for index, event in enumerate(batch.events):
        corrected = correct_event(event, clock, batch.boot_id)
        times = clock_of(corrected, batch.sent, batch.stamp.received_us)
        entry = _event(event, times, batch.device_id, zone, refused=index in refused)
        entry.fields["boot_id"] = event.boot_id or batch.boot_id
        yield entry


def _event(event: Event, clock: Clock, device_id: str, zone: tzinfo | None, *, refused: bool) -> Entry:
    bound = bound_us(clock)
    attributes = dict(sorted(event.attributes.items()))
    said = [f"{name}={value}" for name, value in attributes.items()]
    said += [f"({len(event.data)} bytes of {event.content_type or 'data'})"] if event.data else []
    said += [f"[{_joined(event)}]"] if event.enrichments else []
    flags = [word for word, on in (("clamped", clock.clamped), ("clock-set", clock.spans_clock_set)) if on]
    parts = (
        ("REFUSED" if refused else "", "red bold"),
        (time_text(clock.corrected_us, zone), "cyan"),
        (bound_text(bound), "green" if bound is not None else "yellow"),
        ("/".join([method_name(clock.method), *flags]), "dim"),
        (device_id, "magenta"),
        (f"#{event.seq}" if event.seq else event.id, "dim"),
        (event.type, "bold"),
        (" ".join(said), ""),
    )
    fields = {
        "device_id": device_id,
        "boot_id": event.boot_id,
        "seq": event.seq,
        "id": event.id,
        "type": event.type,
        "attributes": attributes,
        "data_base64": base64.b64encode(event.data).decode(),
        "refused": refused,
    }
    return _entry(parts, fields | time_fields(event, clock) | _enriched_fields(event), refused)


def _joined(event: Event) -> str:
    return " ".join(f"{e.name}.{name}={value}" for e in event.enrichments for name, value in sorted(e.columns.items()))


def _enriched_fields(event: Event) -> dict[str, Any]:
    if not event.key:  # enrichment has not seen it
        return {}
    enrichments = [MessageToDict(e, preserving_proto_field_name=True) for e in event.enrichments]
    return {"key": event.key, "revision": event.revision, "enrichments": enrichments}


def _rejected(batch: RejectedBatch, zone: tzinfo | None) -> Iterator[Entry]:
    for rejection in batch.rejections:
        reason = reason_name(rejection.reason)
        try:
            event_type = Event.FromString(rejection.event).type or "(no type)"
        except DecodeError:
            event_type = f"({len(rejection.event)} bytes that are no event)"
        parts = (
            ("REFUSED", "red bold"),
            (time_text(batch.received_us, zone), "cyan"),
            (batch.device_id, "magenta"),
            (event_type, "bold"),
            (f"{reason}: {rejection.detail}", ""),
            (f"(refused by {batch.refused_by})", "dim"),
        )
        fields = {
            "device_id": batch.device_id,
            "boot_id": batch.boot_id,
            "received": time_text(batch.received_us),
            "received_us": batch.received_us,
            "refused_by": batch.refused_by,
            "index": rejection.index,
            "reason": reason,
            "detail": rejection.detail,
            "type": event_type,
            "event_base64": base64.b64encode(rejection.event).decode(),
        }
        yield _entry(parts, fields, refused=True)


def _entry(parts: tuple[tuple[str, str], ...], fields: dict[str, Any], refused: bool) -> Entry:
    shown = tuple((visible(text), style) for text, style in parts if text)
    return Entry(" ".join(text for text, _ in shown), fields, refused, shown)
