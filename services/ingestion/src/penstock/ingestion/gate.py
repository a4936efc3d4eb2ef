"""Decides which events of a request may pass, and says in words why the others may not.

In:  a request's bytes; the pipeline's event types and the limits, once, at the start.
Out: an Inspection: who sent it, by which clocks, and a row per event. Raises BadRequest if the request
     as a whole is not one. The compiled walk is in wire.py; here are its tables and its words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from penstock.events.v1.event_pb2 import Event
from penstock.ingestion import wire
from penstock.ingestion.errors import BadRequest
from penstock.pipeline import Pipeline

DEVICE_ID_BYTES_MAX = 128

FIELDS = {1: "id", 2: "type", 3: "seq", 4: "occurred", 5: "attributes", 6: "data"} | {
    7: "content_type",
    8: "boot_id",
    9: "traceparent",
    10: "tracestate",
}
REQUEST_FIELDS = {1: "device_id", 2: "boot_id", 3: "sent", 4: "clock_token", 5: "reply_received", 6: "events"}


@dataclass(frozen=True, slots=True)
class Limits:
    request_bytes_max: int = 4 << 20
    events_max: int = 5_000
    attributes_max: int = 64
    attribute_name_bytes_max: int = 64
    attribute_value_bytes_max: int = 8 << 10
    data_bytes_max: int = 256 << 10


@dataclass(frozen=True, slots=True)
class Reading:
    """What the device's clocks showed. `wall_us` is 0 where it did not say."""

    wall_us: int
    steady_us: int | None


@dataclass(frozen=True, slots=True)
class Inspection:
    """`rows` is the gate's own scratch memory: it is valid until the next request is inspected."""

    device_id: str
    boot_id: str
    clock_token: bytes
    sent: Reading
    reply_received: Reading
    rows: NDArray[np.int64]
    passed: int
    # First and last sequence number, if all events passed and are numbered without a gap; else None.
    run: tuple[int, int] | None


class Gate:
    def __init__(self, pipeline: Pipeline, limits: Limits) -> None:
        self._limits = limits
        self.types: Sequence[str] = sorted(pipeline.event_types)
        self._required = [list(pipeline.event_types[name].required) for name in self.types]
        self._names, self._type_spans, self._required_spans = _tables(self.types, self._required)
        self._bounds = np.array(
            [
                limits.events_max,
                limits.attributes_max,
                limits.attribute_name_bytes_max,
                limits.attribute_value_bytes_max,
                limits.data_bytes_max,
            ],
            np.int64,
        )
        self._head = np.zeros(wire.HEAD_COLUMNS, np.int64)
        self._rows = np.zeros((limits.events_max, wire.ROW_COLUMNS), np.int64)
        self._entries = np.zeros((limits.attributes_max, 2), np.int64)
        self._walk(b"\x0a\x00")  # compiles, or loads what was compiled before

    def _walk(self, request: bytes) -> list[int]:
        data = np.frombuffer(request, np.uint8)
        wire.inspect(
            data,
            self._head,
            self._rows,
            self._entries,
            self._names,
            self._type_spans,
            self._required_spans,
            self._bounds,
        )
        head: list[int] = self._head.tolist()
        return head

    def inspect(self, request: bytes) -> Inspection:
        if len(request) > self._limits.request_bytes_max:
            raise BadRequest(
                f"request of {len(request):,} bytes: at most {self._limits.request_bytes_max:,} are taken; "
                "send smaller batches"
            )
        if not request:
            raise BadRequest("empty request: device_id is required")
        head = self._walk(request)
        if head[wire.STATUS] != wire.OK:
            raise BadRequest(self._request_fault(head))
        device_at, device_len = head[wire.DEVICE_AT], head[wire.DEVICE_LEN]
        boot_at, boot_len = head[wire.BOOT_AT], head[wire.BOOT_LEN]
        token_at, token_len = head[wire.TOKEN_AT], head[wire.TOKEN_LEN]
        if not 0 < device_len <= DEVICE_ID_BYTES_MAX:
            raise BadRequest(f"device_id has {device_len} bytes: 1 to {DEVICE_ID_BYTES_MAX} are required")
        if boot_len > wire.BOOT_MAX:
            raise BadRequest(f"boot_id has {boot_len} bytes: at most {wire.BOOT_MAX} are allowed")
        return Inspection(
            device_id=request[device_at : device_at + device_len].decode(),
            boot_id=request[boot_at : boot_at + boot_len].decode(),
            clock_token=request[token_at : token_at + token_len],
            sent=_reading(head, wire.SENT_WALL),
            reply_received=_reading(head, wire.REPLY_WALL),
            rows=self._rows[: head[wire.EVENTS]],
            passed=head[wire.PASSED],
            run=(head[wire.FIRST_SEQ], head[wire.LAST_SEQ]) if head[wire.CONTIGUOUS] else None,
        )

    def _request_fault(self, head: list[int]) -> str:
        status, at, number = head[wire.STATUS], head[wire.STATUS_AT], head[wire.STATUS_FIELD]
        name = REQUEST_FIELDS.get(number, f"number {number}")
        if status == wire.TOO_MANY_EVENTS:
            return f"more than {self._limits.events_max:,} events: send smaller batches"
        if status == wire.UNKNOWN_FIELD:
            return f"byte {at}: field {name} is not one that a client may set in PublishRequest"
        what = {
            wire.TRUNCATED: f"field {name} is longer than the bytes that are left",
            wire.BAD_TAG: "no field starts here",
            wire.WRONG_WIRE_TYPE: f"field {name} is not length-delimited",
            wire.BAD_CONTENT: f"the content of field {name} is not of its type (a string must be UTF-8)",
        }[status]
        return f"not a penstock.ingest.v1.PublishRequest: byte {at}: {what}"

    def detail(self, request: bytes, row: Sequence[int]) -> str:
        """Why the event of this row was refused, for the developer who reads the answer."""
        code, arg, at, end = row[wire.CODE], row[wire.ARG], row[wire.AT], row[wire.END]
        limits = self._limits
        if code == wire.MALFORMED:
            field = f"field {FIELDS[arg]}" if arg in FIELDS else "its fields"
            return f"not a penstock.events.v1.Event: {field} cannot be read"
        if code == wire.FORBIDDEN_FIELD:
            name = Event.DESCRIPTOR.fields_by_number.get(arg)
            return f"field {name.name if name else arg} is not one that a device may set"
        if code == wire.TOO_MANY_ATTRIBUTES:
            return f"{arg} attributes: at most {limits.attributes_max} are allowed"
        event = Event.FromString(request[at:end])
        if code == wire.UNKNOWN_TYPE:
            return f"type {event.type!r} is not declared in pipeline.yaml; declared: {', '.join(self.types)}"
        if code == wire.MISSING_ATTRIBUTE:
            return (
                f"attribute {self._required[row[wire.TYPE]][arg]!r} is required for {event.type} and must not be empty"
            )
        if code == wire.NO_IDENTITY:
            return "neither seq nor id is set: an event needs one of them to be told from its resends"
        if code == wire.NAME_SIZE:
            return f"an attribute name has {arg} bytes: 1 to {limits.attribute_name_bytes_max} are allowed"
        if code == wire.VALUE_SIZE:
            name_of_longest = max(event.attributes, key=lambda name: len(event.attributes[name].encode()))
            allowed = limits.attribute_value_bytes_max
            return f"the value of attribute {name_of_longest!r} has {arg} bytes: at most {allowed} are allowed"
        if code == wire.DATA_SIZE:
            return f"data has {arg:,} bytes: at most {limits.data_bytes_max:,} are allowed"
        if code == wire.FIELD_SIZE:
            return f"field {FIELDS[arg]} is larger than allowed"
        return f"already accepted: {f'seq {event.seq}' if event.seq else f'id {event.id!r}'}"


def _reading(head: list[int], column: int) -> Reading:
    return Reading(wall_us=max(head[column], 0), steady_us=head[column + 1] if head[column + 2] else None)


def _tables(
    types: Sequence[str], required: Sequence[Sequence[str]]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """All names in one blob; (at, size) of each type; and for each type how many attributes it requires and which."""
    blob = bytearray()

    def place(name: str) -> tuple[int, int]:
        encoded = name.encode()
        blob.extend(encoded)
        return len(blob) - len(encoded), len(encoded)

    type_spans = np.array([place(name) for name in types], np.int64).reshape(len(types), 2)
    required_spans = np.zeros((max(len(types), 1), 1 + 2 * wire.REQUIRED_MAX), np.int64)
    for index, names in enumerate(required):
        required_spans[index, 0] = len(names)
        for number, name in enumerate(names):
            required_spans[index, 1 + 2 * number : 3 + 2 * number] = place(name)
    return np.frombuffer(bytes(blob) or b"\0", np.uint8), type_spans, required_spans
