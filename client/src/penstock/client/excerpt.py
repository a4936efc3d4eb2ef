"""Words of a caller, short enough to be quoted in a message that people read. Pure."""

from __future__ import annotations

_CHARS_MAX = 40


def excerpt(text: str, chars_max: int = _CHARS_MAX) -> str:
    """The beginning of the text; `…` says that there is more."""
    return text if len(text) <= chars_max else f"{text[:chars_max]}…"
