"""Writes protobuf's wire format, compiled.

In:  addresses and offsets (see memory.py). Out: bytes, and where they end.
The caller has made sure that there is room.
"""

from __future__ import annotations

from penstock.wire.fields import jit
from penstock.wire.memory import byte, put_byte


@jit
def copy(source: int, at: int, size: int, out: int, to: int) -> int:
    for index in range(size):
        put_byte(out, to + index, byte(source, at + index))
    return to + size


@jit
def put_varint(out: int, at: int, value: int) -> int:
    """Of an int64: a negative one takes ten bytes."""
    for _ in range(9):
        if 0 <= value < 0x80:
            break
        put_byte(out, at, value & 0x7F | 0x80)
        value = (value >> 7) & 0x01FFFFFFFFFFFFFF
        at += 1
    put_byte(out, at, value)
    return at + 1


@jit
def varint_size(value: int) -> int:
    size = 1
    while not 0 <= value < 0x80:
        value = (value >> 7) & 0x01FFFFFFFFFFFFFF
        size += 1
    return size


@jit
def put_sized(out: int, at: int, source: int, begin: int, size: int) -> int:
    """A size and so many bytes; what stands before it is the caller's."""
    return copy(source, begin, size, out, put_varint(out, at, size))


@jit
def put_big_endian(out: int, at: int, value: int) -> int:
    for index in range(8):
        put_byte(out, at + index, value >> (56 - 8 * index))
    return at + 8


@jit
def murmur2(data: int, at: int, size: int) -> int:
    """As penstock.topics.partitioning. Only the low 32 bits of products count, so overflow does no harm."""
    state = 0x9747B28C ^ size
    whole = size - size % 4
    for index in range(0, whole, 4):
        here = at + index
        mixed = byte(data, here) | byte(data, here + 1) << 8 | byte(data, here + 2) << 16 | byte(data, here + 3) << 24
        mixed = mixed * 0x5BD1E995 & 0xFFFFFFFF
        mixed = (mixed ^ mixed >> 24) * 0x5BD1E995 & 0xFFFFFFFF
        state = (state * 0x5BD1E995 & 0xFFFFFFFF) ^ mixed
    if whole < size:
        last = 0
        for index in range(whole, size):
            last |= byte(data, at + index) << 8 * (index - whole)
        state = (state ^ last) * 0x5BD1E995 & 0xFFFFFFFF
    state = (state ^ state >> 13) * 0x5BD1E995 & 0xFFFFFFFF
    return state ^ state >> 15
