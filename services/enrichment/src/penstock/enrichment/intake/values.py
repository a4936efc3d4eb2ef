"""The values of a record as texts, which is what columns are.

In:  JSON values as Debezium writes them, and for decimals in bytes their scale, if a schema told it.
Out: one text per value; None for NULL.
- Text, dates and times, intervals and bytes in base64 are left as they are given: without a schema nobody can tell
  them apart. Set Debezium's decimal.handling.mode to string and time.precision.mode to isostring for texts that explain
  themselves.
- Numbers keep the digits that they were written with. `infinity` and NaN are what the record says.
- Decimals in bytes become digits where the scale is known: from the schema, or because Debezium wrote it beside.
- Arrays and maps become canonical JSON: no spaces, keys sorted.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from decimal import Context, Decimal
from typing import Final, NoReturn

from penstock.enrichment.intake.outcome import RefusedError
from penstock.tables.v1.rejected_change_pb2 import CHANGE_REFUSAL_UNREADABLE_VALUE

DEPTH_MAX: Final = 64
DECIMAL_BYTES_MAX: Final = 65_536  # numeric has at most 147,455 digits
SCALE_MAX: Final = 16_383
_VARIABLE_SCALE: Final = {"scale", "value"}
_EXACT: Final = Context(prec=200_000, Emax=999_999, Emin=-999_999)


class Numeral(str):
    """A JSON number that is no integer, as it was written: a float would lose digits."""

    __slots__ = ()


_DECODER: Final = json.JSONDecoder(parse_float=Numeral, parse_constant=Numeral)


def load_json(text: bytes) -> object:
    """Numbers with a point or an exponent, NaN and Infinity become `Numeral`s. ValueError if it is no JSON."""
    try:
        return _DECODER.decode(text.decode())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def text_of(value: object, column: str, scale: int | None = None) -> str | None:
    """The value as the text of a column; `scale` is that of a decimal in bytes."""
    if value is None:
        return None
    if isinstance(value, str):
        return _decimal(value, scale, column) if scale is not None else sound(str(value), column)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict) and value.keys() == _VARIABLE_SCALE and type(value["scale"]) is int:
        return _decimal(value["value"], value["scale"], column)
    return sound(_canonical(value, column, 0), column)


def _canonical(value: object, column: str, depth: int) -> str:
    if depth > DEPTH_MAX:
        _refuse(column, f"is nested more than {DEPTH_MAX} levels deep")
    if isinstance(value, Mapping):
        items = (f"{_quoted(name)}:{_canonical(value[name], column, depth + 1)}" for name in sorted(value))
        return "{" + ",".join(items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_canonical(element, column, depth + 1) for element in value) + "]"
    if isinstance(value, Numeral):
        return str(value)
    return _quoted(value)


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _decimal(value: object, scale: int, column: str) -> str:
    """A signed big-endian number in base64, divided by a power of ten."""
    if not isinstance(value, str) or not -SCALE_MAX <= scale <= SCALE_MAX:
        _refuse(column, "is said to be a decimal, and is not in base64 with a scale")
    try:
        raw = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        _refuse(column, "is said to be a decimal, and is not in base64")
    if not 0 < len(raw) <= DECIMAL_BYTES_MAX:
        _refuse(column, f"is a decimal of {len(raw)} bytes")
    unscaled = Decimal(int.from_bytes(raw, "big", signed=True))
    return f"{unscaled.scaleb(-scale, _EXACT):f}"


def sound(text: str, column: str) -> str:
    """The text itself, if it can be written in UTF-8."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            _refuse(column, "has half of a surrogate pair, which is no text")
    return text


def _refuse(column: str, fault: str) -> NoReturn:
    raise RefusedError(CHANGE_REFUSAL_UNREADABLE_VALUE, f"column {column!a} {fault}")
