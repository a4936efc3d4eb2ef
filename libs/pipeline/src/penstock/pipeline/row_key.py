"""The key of a row, as one text.

In:  the values of the key's columns, in the order that pipeline.yaml lists them.
Out: one text, different for different values, that reads like a path: alice, alice/bob, a%2Fb.
Pure: every producer and every reader of a table builds keys with this, so that the same row has the same key.
"""

import re
from collections.abc import Sequence

_ESCAPED = re.compile("%(.{0,2})", re.DOTALL)
_MEANING = {"2F": "/", "25": "%"}


def row_key(values: Sequence[str]) -> str:
    """Join the values by "/"; a "%" or "/" inside of one is written %25 or %2F, so that no two rows share a key."""
    if len(values) == 1 and "%" not in values[0] and "/" not in values[0]:
        return values[0]  # the usual case, in few steps: this runs once per event
    if not values:
        raise ValueError("a key has at least one value")
    return "/".join([value.replace("%", "%25").replace("/", "%2F") for value in values])


def key_values(key: str) -> tuple[str, ...]:
    """Take a key apart again; ValueError if `row_key` never makes such a text."""
    return tuple(_ESCAPED.sub(_unescaped, part) for part in key.split("/"))


def _unescaped(match: re.Match[str]) -> str:
    if match[1] not in _MEANING:
        raise ValueError(f"'{match[0]}' in a key stands for nothing; write % as %25 and / as %2F")
    return _MEANING[match[1]]
