"""The schema that Kafka Connect may put beside a key or a value.

In:  a JSON object, `{"schema": …, "payload": …}` or the payload alone.
Out: the payload, and of the schema the one thing that a payload cannot do without: the scales of decimals in bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

Fields = Mapping[str, object]

_WRAPPED: Final = {"schema", "payload"}
_DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"


def unwrap(parsed: Fields) -> tuple[Fields | None, Fields | None]:
    """Payload and schema; None where there is none. A table may have columns `schema` and `payload`: both texts."""
    if parsed.keys() != _WRAPPED:
        return parsed, None
    schema, payload = parsed["schema"], parsed["payload"]
    if not isinstance(schema, dict | None) or not isinstance(payload, dict | None):
        return parsed, None
    return payload, schema


def scales_of(schema: Fields, field: str | None = None) -> dict[str, int]:
    """By column, of the struct itself or of one of its fields."""
    scales: dict[str, int] = {}
    for one in _fields(schema):
        if field is not None:
            if one.get("field") == field:
                return scales_of(one)
            continue
        name, scale = one.get("field"), _scale(one)
        if isinstance(name, str) and scale is not None:
            scales[name] = scale
    return scales


def _fields(schema: Fields) -> Iterator[Fields]:
    fields = schema.get("fields")
    return (one for one in fields if isinstance(one, dict)) if isinstance(fields, list) else iter(())


def _scale(field: Fields) -> int | None:
    parameters = field.get("parameters")
    if field.get("name") != _DECIMAL or not isinstance(parameters, dict):
        return None
    try:
        return int(str(parameters.get("scale")))
    except ValueError:
        return None
