"""One dead letter in full, as people and programs read it: who, when, why, from where, and the payload. Pure."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, tzinfo
from typing import Any

from google.protobuf.message import DecodeError
from penstock.client.cli.letters import Letter, Rejected, letter_fields, letters_of
from penstock.client.cli.preview import preview
from penstock.client.cli.rendering import visible
from penstock.client.cli.times import time_text
from penstock.client.place import Place
from penstock.events.v1.event_pb2 import Event
from penstock.events.v1.raw_batch_pb2 import RejectedBatch, Rejection
from penstock.tables.v1.rejected_change_pb2 import RejectedChange

_WIDTH = 12
_LETTERS_SHOWN_MAX = 50


def shown(place: Place, time_us: int, said: Rejected | None, zone: tzinfo | None = UTC) -> Iterator[tuple[str, str]]:
    """(text, style), line by line."""
    yield str(place), "bold cyan"
    letters = list(letters_of(place, time_us, said))
    for number, letter in enumerate(letters[:_LETTERS_SHOWN_MAX]):
        if number:
            yield "", ""
        for name, lines in _parts(letter, said, number, zone):
            for line_number, line in enumerate(lines):
                label = name if line_number == 0 else ""
                yield f"  {label:{_WIDTH}}{line}", "red" if name == "reason" else ""
    if len(letters) > _LETTERS_SHOWN_MAX:
        yield f"… {len(letters) - _LETTERS_SHOWN_MAX} more events; --json has them all", "dim"


def _parts(letter: Letter, said: Rejected | None, number: int, zone: tzinfo | None) -> Iterator[tuple[str, list[str]]]:
    yield "reason", [visible(f"{letter.reason}: {letter.detail}")]
    by = f" by {visible(letter.refused_by)}" if letter.refused_by else ""
    yield "set aside", [f"{time_text(letter.time_us, zone)}{by}"]
    if letter.source is not None or letter.index is not None:
        origin = "a request" if letter.source is None else visible(str(letter.source))
        yield "source", [origin if letter.index is None else f"{origin}, event {letter.index} of its batch"]
    if isinstance(said, RejectedBatch):
        yield from _event_parts(said, said.rejections[number], zone)
    elif isinstance(said, RejectedChange):
        yield from _change_parts(said)


def _event_parts(batch: RejectedBatch, rejection: Rejection, zone: tzinfo | None) -> Iterator[tuple[str, list[str]]]:
    if batch.device_id:
        yield "device", [visible(f"{batch.device_id}, boot {batch.boot_id or '(none)'}")]
    if batch.received_us:
        yield "received", [time_text(batch.received_us, zone)]
    try:
        event = Event.FromString(rejection.event)
    except DecodeError:
        yield "bytes", preview(rejection.event)
        return
    name = f"#{event.seq}" if event.seq else event.id or "(neither number nor id)"
    yield "event", [visible(f"{event.type or '(no type)'} {name}")]
    if event.attributes:
        yield "attributes", [visible(f"{name}={value}")[:1_000] for name, value in sorted(event.attributes.items())]
    if event.data:
        yield "data", [f"{len(event.data):,} bytes of {visible(event.content_type) or 'data'}", *preview(event.data)]


def _change_parts(change: RejectedChange) -> Iterator[tuple[str, list[str]]]:
    yield "table", [visible(change.table)]
    yield "key", preview(change.key) if change.HasField("key") else ["(none)"]
    yield "value", preview(change.value) or ["(empty)"] if change.HasField("value") else ["(none: a tombstone)"]
    if change.value_cut:
        yield "", ["(cut here; the whole is at the source, as long as that topic keeps it)"]


def shown_fields(place: Place, time_us: int, said: Rejected | None) -> Iterator[dict[str, Any]]:
    """For JSON: an object per refused event or change, the payload included."""
    for number, letter in enumerate(letters_of(place, time_us, said)):
        if isinstance(said, RejectedBatch):
            payload = _event_fields(said, said.rejections[number])
        elif isinstance(said, RejectedChange):
            payload = _change_fields(said)
        else:
            payload = {}
        yield letter_fields(letter) | payload


def _event_fields(batch: RejectedBatch, rejection: Rejection) -> dict[str, Any]:
    return {
        "boot_id": batch.boot_id,
        "received_us": batch.received_us or None,
        "event": _event_content(rejection.event),
        "event_base64": base64.b64encode(rejection.event).decode(),
    }


def _event_content(raw: bytes) -> dict[str, Any] | None:
    try:
        event = Event.FromString(raw)
    except DecodeError:
        return None
    return {
        "type": event.type,
        "seq": event.seq,
        "id": event.id,
        "attributes": dict(sorted(event.attributes.items())),
        "data_base64": base64.b64encode(event.data).decode(),
        "content_type": event.content_type,
    }


def _change_fields(change: RejectedChange) -> dict[str, Any]:
    return {
        "key_base64": base64.b64encode(change.key).decode() if change.HasField("key") else None,
        "value_base64": base64.b64encode(change.value).decode() if change.HasField("value") else None,
        "value_cut": change.value_cut,
    }
