"""Protobuf's wire format, as far as answers are put together by hand.

Posts are kept as they came, serialized: to parse 50 of them and write them again would be most of the cost of a page.
In:  parts that are serialized already. Out: the message that has them as fields; and the other way round.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def varint(value: int) -> bytes:
    """Of a number that is not negative."""
    return _SMALL[value] if value < len(_SMALL) else _varint(value)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_SMALL = [_varint(value) for value in range(1 << 12)]  # sizes of posts are small, and a page has many of them


def tag(number: int) -> bytes:
    """Of a field that has a size: text, bytes, a message, packed numbers."""
    return varint(number << 3 | 2)


def field(number: int, content: bytes) -> bytes:
    return tag(number) + varint(len(content)) + content


def repeated(number: int, contents: Iterable[bytes]) -> bytes:
    """A field that has several values, one after the other."""
    head = tag(number)
    parts: list[bytes] = []
    for content in contents:
        parts += (head, varint(len(content)), content)
    return b"".join(parts)


def values(message: bytes, number: int) -> Iterator[bytes]:
    """The values of a repeated field, in a message that has no other fields. ValueError if it has, or is cut off."""
    head, at, end = tag(number), 0, len(message)
    while at < end:
        if not message.startswith(head, at):
            raise ValueError(f"byte {at} does not begin field {number}")
        size, at = _varint_at(message, at + len(head))
        if at + size > end:
            raise ValueError(f"the value at byte {at} is cut off")
        yield message[at : at + size]
        at += size


def _varint_at(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 35:
        group = message[at]
        value |= (group & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if group < 0x80:
            return value, at
    raise ValueError(f"no size ends at byte {at}")
