"""Events from lines of JSON.

In:  a line such as {"type": "page.viewed", "attributes": {"user": "ada", "page": "/"}}.
Out: what to publish, or a BadLineError that says what is wrong with the line. Pure.
Keys: type (required), attributes (text to text), data (text) or data_base64, content_type, id,
occurred (ISO 8601 with time zone, or microseconds since 1970), traceparent, tracestate.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from penstock.client.encoding import Extras
from penstock.client.excerpt import excerpt
from penstock.client.reading import Reading

_KEYS = ("type", "attributes", "data", "data_base64", "occurred", *Extras.__annotations__)


class BadLineError(Exception):
    """The line is not an event."""


@dataclass(frozen=True, slots=True)
class EventLine:
    """The arguments of `publish`."""

    type: str
    attributes: dict[str, str] = field(default_factory=dict)
    data: bytes = b""
    occurred: Reading | datetime | None = None
    extras: Extras = field(default_factory=Extras)


def parse(line: str | bytes) -> EventLine:
    """One event from one line."""
    try:
        said = json.loads(line.rstrip())  # what is missing is missing at the end of this line, not in the next
    except json.JSONDecodeError as error:
        raise BadLineError(f"not JSON: {error.msg} at column {error.pos + 1}") from error
    except RecursionError as error:
        raise BadLineError("not an event: nested too deeply") from error
    except UnicodeDecodeError as error:
        raise BadLineError(f"not UTF-8 at byte {error.start + 1}") from error
    if not isinstance(said, dict):
        raise BadLineError(f"an event is an object with a type, not {_shown(said)}")
    if unknown := [key for key in said if key not in _KEYS]:
        raise BadLineError(f"unknown key {excerpt(unknown[0])!r}; known are {', '.join(_KEYS)}")
    if not said.get("type"):
        raise BadLineError('no "type"')
    extras = Extras(**{key: _text(said, key) for key in Extras.__annotations__ if key in said})  # type: ignore[typeddict-item]  # its own keys
    return EventLine(_text(said, "type"), _attributes(said), _data(said), _occurred(said), extras)


def _text(said: dict[str, Any], key: str) -> str:
    value = said[key]
    if not isinstance(value, str):
        raise BadLineError(f'"{key}" must be text, not {_shown(value)}')
    return value


def _attributes(said: dict[str, Any]) -> dict[str, str]:
    attributes = said.get("attributes", {})
    if not isinstance(attributes, dict):
        raise BadLineError(f'"attributes" must be an object, not {_shown(attributes)}')
    for name, value in attributes.items():
        if not isinstance(value, str):
            raise BadLineError(f'attribute "{excerpt(name)}" must be text, not {_shown(value)}; put quotes around it')
    return attributes


def _data(said: dict[str, Any]) -> bytes:
    if "data" in said and "data_base64" in said:
        raise BadLineError('"data" and "data_base64" exclude each other')
    if "data_base64" in said:
        try:
            return base64.b64decode(_text(said, "data_base64"), validate=True)
        except binascii.Error as error:
            raise BadLineError(f'"data_base64" is not base64: {error}') from error
    return _text(said, "data").encode() if "data" in said else b""


def _occurred(said: dict[str, Any]) -> Reading | datetime | None:
    value = said.get("occurred")
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return Reading(value)
    try:
        moment = datetime.fromisoformat(_text(said, "occurred"))
    except ValueError as error:
        raise BadLineError('"occurred" must be like 2026-11-16T03:00:00Z, or microseconds since 1970') from error
    if moment.tzinfo is None:
        raise BadLineError(f'"occurred" has no time zone; write {moment.isoformat()}Z for UTC')
    return moment


def _shown(value: object) -> str:
    return excerpt(json.dumps(value))
