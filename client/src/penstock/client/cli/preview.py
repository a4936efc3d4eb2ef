"""Bytes as a person can read them: JSON laid out, text as it is, anything else in hexadecimal. Pure and bounded."""

from __future__ import annotations

import json
from itertools import islice

from penstock.client.cli.rendering import visible

_LINES_MAX = 40
_LINE_CHARS_MAX = 200
_HEX_LINES_MAX = 16
_HEX_PER_LINE = 16
_JSON_BYTES_MAX = 1 << 20
_JSON_LINE_CHARS_MAX = 80


def preview(raw: bytes) -> list[str]:
    """At most so many lines of so many characters; the last one says what was left out."""
    text = _text(raw)
    if text is None:
        return _hex(raw)
    lines = [visible(line) for line in text.splitlines()]
    shown = [line if len(line) <= _LINE_CHARS_MAX else f"{line[:_LINE_CHARS_MAX]}…" for line in lines[:_LINES_MAX]]
    left = len(lines) - len(shown)
    return [*shown, f"… {left} more lines; --json has them all"] if left else shown


def _text(raw: bytes) -> str | None:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    if len(raw) <= _JSON_BYTES_MAX and text[:1] in {"{", "["}:
        try:
            return _laid_out(json.loads(text))
        except (ValueError, RecursionError):  # it only looked like JSON
            return text
    controls = sum(not (char.isprintable() or char in "\n\r\t") for char in islice(text, 1_000))
    return None if controls > len(text[:1_000]) // 10 else text


def _laid_out(value: object) -> str:
    short = json.dumps(value, ensure_ascii=False)
    return short if len(short) <= _JSON_LINE_CHARS_MAX else json.dumps(value, indent=2, ensure_ascii=False)


def _hex(raw: bytes) -> list[str]:
    starts = range(0, min(len(raw), _HEX_LINES_MAX * _HEX_PER_LINE), _HEX_PER_LINE)
    lines = [_hex_line(start, raw[start : start + _HEX_PER_LINE]) for start in starts]
    left = len(raw) - len(lines) * _HEX_PER_LINE
    return [*lines, f"… {left:,} more bytes; --json has them all"] if left > 0 else lines


def _hex_line(start: int, part: bytes) -> str:
    text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)
    return f"{start:04x}  {part.hex(' '):{_HEX_PER_LINE * 3 - 1}}  {text}"
