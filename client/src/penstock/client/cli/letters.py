"""Dead letters: what was set aside, by whom and why.

In:  records of events.rejected.v1 and changes.rejected.v1.
Out: a `Letter` per refused event or change, without its payload: text for lists, an object for JSON. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeAlias

from google.protobuf.message import DecodeError
from penstock.client.cli.rendering import visible
from penstock.client.cli.times import time_text
from penstock.client.excerpt import excerpt
from penstock.client.place import Place
from penstock.client.receipt import reason_name
from penstock.events.v1.event_pb2 import Event, Position
from penstock.events.v1.raw_batch_pb2 import RefusalReason, RejectedBatch, Rejection
from penstock.tables.v1.rejected_change_pb2 import ChangeRefusal, RejectedChange

EVENTS, CHANGES = "events.rejected.v1", "changes.rejected.v1"
TOPICS = (EVENTS, CHANGES)
RAW = "events.raw.v1"
UNREADABLE = "UNREADABLE"
HEADINGS = ("place", "time", "refused_by", "reason", "of", "what", "source", "detail")
_CHANGES_REFUSED_BY = "table-intake"
_KEY_CHARS_MAX = 80

Rejected: TypeAlias = RejectedBatch | RejectedChange


@dataclass(frozen=True, slots=True)
class Letter:
    """One refused event or change. The events that one request had refused are in one record."""

    place: Place
    """Of the record, by the topic's name on the map."""
    time_us: int
    """When it was set aside."""
    refused_by: str
    reason: str
    detail: str
    of: str
    """The device, or the table."""
    what: str
    source: Place | None = None
    """The record that it came in; None: in a request that no record of the log is known of."""
    index: int | None = None
    """Of the event in its batch."""
    fingerprint: bytes = b""
    """Equal for letters of the same event or change: one that was tried again and refused again has several."""


def decoded(topic: str, value: bytes | None) -> Rejected | None:
    """What a record says; None where it cannot be read."""
    kind = RejectedBatch if topic == EVENTS else RejectedChange
    try:
        return kind.FromString(value or b"")
    except DecodeError:
        return None


def letters_of(place: Place, time_us: int, said: Rejected | None) -> Iterator[Letter]:
    """One per refused event, or the one change."""
    if isinstance(said, RejectedChange):
        yield _change_letter(place, time_us, said)
    elif isinstance(said, RejectedBatch):
        for rejection in said.rejections:
            yield _event_letter(place, time_us, said, rejection)
    else:
        yield Letter(place, time_us, "", UNREADABLE, "the record is not what its topic should hold", "", "")


def _event_letter(place: Place, time_us: int, batch: RejectedBatch, rejection: Rejection) -> Letter:
    return Letter(
        place,
        time_us,
        batch.refused_by,
        reason_name(rejection.reason),
        rejection.detail,
        batch.device_id,
        event_name(rejection.event),
        source_of(rejection.source) if rejection.HasField("source") else None,
        rejection.index,
        _fingerprint(batch.device_id.encode(), batch.boot_id.encode(), rejection.event),
    )


def _change_letter(place: Place, time_us: int, change: RejectedChange) -> Letter:
    key = change.key.decode(errors="replace") if change.HasField("key") else "(no key)"
    return Letter(
        place,
        change.rejected_us or time_us,
        _CHANGES_REFUSED_BY,
        change_reason(change.reason),
        change.detail,
        change.table,
        excerpt(key, _KEY_CHARS_MAX),
        source_of(change.source) if change.HasField("source") else None,
        fingerprint=_fingerprint(change.source.topic.encode(), change.key, change.value),
    )


def _fingerprint(*parts: bytes) -> bytes:
    """Short, so that many can be kept."""
    lengths = b"".join(len(part).to_bytes(8, "big") for part in parts)
    return blake2b(lengths + b"".join(parts), digest_size=16).digest()


def source_of(position: Position) -> Place:
    """Where the refused record is."""
    return Place(position.topic, position.partition, position.offset)


def event_name(raw: bytes) -> str:
    """Type and number, or what else can be said of the bytes."""
    try:
        event = Event.FromString(raw)
    except DecodeError:
        return f"({len(raw)} bytes that are no event)"
    name = f"#{event.seq}" if event.seq else event.id
    return f"{event.type or '(no type)'} {excerpt(name, _KEY_CHARS_MAX)}".rstrip()


def change_reason(reason: ChangeRefusal.ValueType) -> str:
    """For example NO_KEY; of a version that is not known here, its number."""
    known = reason in ChangeRefusal.values()
    return ChangeRefusal.Name(reason).removeprefix("CHANGE_REFUSAL_") if known else f"reason {reason}"


def known_reasons() -> list[str]:
    """Those that a letter may have."""
    names = {reason_name(value) for value in RefusalReason.values()} | {
        change_reason(v) for v in ChangeRefusal.values()
    }
    return sorted((names | {UNREADABLE}) - {"UNSPECIFIED"})


def letter_cells(letter: Letter) -> tuple[str, ...]:
    """Under HEADINGS, each on one line."""
    source = "" if letter.source is None else str(letter.source)
    said = (letter.refused_by, letter.reason, letter.of, letter.what, source, letter.detail)
    return str(letter.place), time_text(letter.time_us), *(visible(cell) for cell in said)


def letter_fields(letter: Letter) -> dict[str, Any]:
    """For JSON; null is "not known"."""
    return {
        "place": str(letter.place),
        "time": time_text(letter.time_us),
        "time_us": letter.time_us,
        "refused_by": letter.refused_by,
        "reason": letter.reason,
        "detail": letter.detail,
        "device_id" if letter.place.topic == EVENTS else "table": letter.of,
        "what": letter.what,
        "source": None if letter.source is None else str(letter.source),
        "index": letter.index,
    }


def indexes_by_place(letters: Sequence[Letter]) -> dict[Place, set[int]]:
    """Which events of which record; of a change, none."""
    found: dict[Place, set[int]] = {}
    for letter in letters:
        found.setdefault(letter.place, set()).update(() if letter.index is None else (letter.index,))
    return found
