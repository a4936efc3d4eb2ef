"""Protobuf's wire format, written by hand where a message per event would cost more than the join itself.

In:  numbers and bytes. Out: fields as protobuf writes them; tests hold them against protobuf's own encoder.
Pure.
"""

from __future__ import annotations

from typing import Final

_WORD: Final = (1 << 64) - 1
# Fourteen bits at a time: two bytes that go on, and whole numbers that end.
_MORE: Final = [bytes((number & 0x7F | 0x80, number >> 7 | 0x80)) for number in range(1 << 14)]
_LAST: Final = [bytes((n,)) if n < 0x80 else bytes((n & 0x7F | 0x80, n >> 7)) for n in range(1 << 14)]


def varint(number: int) -> bytes:
    """Of an int64: a negative one takes ten bytes."""
    if 0 <= number < 1 << 14:
        return _LAST[number]
    if 1 << 42 <= number < 1 << 56:  # microseconds since 1970, until the year 4253
        more = _MORE
        return more[number & 0x3FFF] + more[number >> 14 & 0x3FFF] + more[number >> 28 & 0x3FFF] + _LAST[number >> 42]
    number &= _WORD
    parts = []
    while number >= 1 << 14:
        parts.append(_MORE[number & 0x3FFF])
        number >>= 14
    return b"".join(parts) + _LAST[number]


def tag(field: int, *, sized: bool) -> bytes:
    """What stands before a field: a number, or something with a size."""
    return varint(field << 3 | (2 if sized else 0))


def sized(before: bytes, content: bytes) -> bytes:
    """A text, some bytes or a message, behind its tag."""
    return before + varint(len(content)) + content
