"""Recognises the mark that Debezium leaves where PostgreSQL did not log a value.

An update does not log large values that it does not change (TOAST). Debezium then writes a mark, by default
`__debezium_unavailable_value`, in a form that fits the column's type: as it is, in base64 or hex for bytea, as the only
element of an array, as an MD5 UUID in an array of UUIDs, one number per byte in arrays of numbers, as key and value of
an hstore. A column that really holds the mark cannot be told from one that is unavailable.
"""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from typing import Final

from penstock.enrichment.intake.values import Numeral

DEFAULT_MARK: Final = "__debezium_unavailable_value"
_HEX: Final = "hex:"


class Unavailable:
    """The forms of one mark: what the connector's setting unavailable.value.placeholder says."""

    def __init__(self, setting: str = DEFAULT_MARK) -> None:
        raw = bytes.fromhex(setting[len(_HEX) :]) if setting.startswith(_HEX) else setting.encode()
        mark = raw.decode(errors="replace")
        pair = {mark: mark}
        self._texts = frozenset(
            {
                mark,
                *(encode(raw).decode() for encode in (base64.b64encode, base64.urlsafe_b64encode)),
                raw.hex(),
                *(json.dumps(pair, separators=separators) for separators in ((",", ":"), (", ", ": "))),
            }
        )
        self._pair = pair
        self._elements = self._texts | {
            str(uuid.UUID(bytes=hashlib.md5(raw, usedforsecurity=False).digest(), version=3))
        }
        self._numbers = [float(byte) for byte in raw]

    def is_in(self, value: object) -> bool:
        """Whether the value is the mark, in any of its forms."""
        if isinstance(value, str):
            return value in self._texts
        if isinstance(value, list):
            return self._is_array(value)
        return isinstance(value, dict) and value == self._pair

    def _is_array(self, array: list[object]) -> bool:
        if len(array) == 1 and isinstance(array[0], str) and array[0] in self._elements:
            return True
        if len(array) != len(self._numbers):
            return False
        return all(_number(element) == number for element, number in zip(array, self._numbers, strict=True))


def _number(element: object) -> float | None:
    """Arrays of decimals are arrays of texts."""
    if isinstance(element, bool) or not isinstance(element, int | Numeral | str) or len(str(element)) > 8:
        return None
    try:
        return float(element)
    except ValueError:
        return None
