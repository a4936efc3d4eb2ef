"""Reads protobuf's wire format, compiled: what ingestion's and enrichment's walks over event bytes have in common.

In:  addresses and offsets (see memory.py). Out: values, and where they end; -1 as end where the bytes are not right.
Every read lies below an `end` that the caller has checked against the size of the message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit
from penstock.wire.memory import byte, put, word

Compiled = TypeVar("Compiled", bound=Callable[..., Any])


def jit(function: Compiled) -> Compiled:
    return cast(Compiled, njit(cache=True, nogil=True, error_model="numpy")(function))


@jit
def varint(data: int, at: int, end: int) -> tuple[int, int]:
    """The value and where it ends; -1 as end if the bytes run out or it is longer than ten bytes."""
    value = 0
    shift = 0
    while at < end and shift < 70:
        group = byte(data, at)
        at += 1
        value |= (group & 0x7F) << shift
        if group < 0x80:
            return (value, at) if shift < 63 or group < 2 else (value, -1)
        shift += 7
    return value, -1


@jit
def span(data: int, at: int, end: int) -> tuple[int, int]:
    """A length-delimited field's content: its start and end; -1 as end if it does not fit before `end`."""
    size, start = varint(data, at, end)
    if start < 0 or size < 0 or size > end - start:
        return 0, -1
    return start, start + size


@jit
def sequence_fits(data: int, at: int, end: int) -> int:
    """The size of the UTF-8 sequence of several bytes at `at`; 0 if it is none. No overlong forms, no surrogates."""
    first = byte(data, at)
    low, top, more = 0x80, 0xBF, 0
    if 0xC2 <= first <= 0xDF:
        more = 1
    elif 0xE0 <= first <= 0xEF:
        more = 2
        low = 0xA0 if first == 0xE0 else 0x80
        top = 0x9F if first == 0xED else 0xBF
    elif 0xF0 <= first <= 0xF4:
        more = 3
        low = 0x90 if first == 0xF0 else 0x80
        top = 0x8F if first == 0xF4 else 0xBF
    if more == 0 or at + more >= end or byte(data, at + 1) < low or byte(data, at + 1) > top:
        return 0
    for index in range(2, more + 1):
        if byte(data, at + index) & 0xC0 != 0x80:
            return 0
    return more + 1


@jit
def utf8(data: int, at: int, end: int) -> bool:
    """Whether the bytes are valid UTF-8, as protobuf demands of strings."""
    high = 0
    for index in range(at, end):
        high |= byte(data, index)
    if high < 0x80:
        return True
    while at < end:
        size = 1 if byte(data, at) < 0x80 else sequence_fits(data, at, end)
        if size == 0:
            return False
        at += size
    return True


@jit
def same(data: int, at: int, size: int, other: int, other_at: int, other_size: int) -> bool:
    if size != other_size:
        return False
    difference = 0
    for index in range(size):
        difference |= byte(data, at + index) ^ byte(other, other_at + index)
    return difference == 0


@jit
def device_time(data: int, at: int, end: int, out: int, column: int) -> bool:
    """Merges a DeviceTime into columns of `out`: wall, steady, has steady."""
    while at < end:
        tag, at = varint(data, at, end)
        if at < 0 or (tag != 8 and tag != 16):
            return False
        value, at = varint(data, at, end)
        if at < 0:
            return False
        if tag == 8:
            put(out, column, value)
        else:
            put(out, column + 1, value)
            put(out, column + 2, 1)
    return True


@jit
def attribute(data: int, at: int, end: int) -> tuple[int, int, int, int]:
    """One map entry: name at, name size, value at, value size; -1 as name size if it is none."""
    name_at, name_len, value_at, value_len = 0, 0, 0, 0
    while at < end:
        tag, at = varint(data, at, end)
        if at < 0 or (tag != 10 and tag != 18):
            return name_at, -1, value_at, value_len
        start, stop = span(data, at, end)
        if stop < 0 or not utf8(data, start, stop):
            return name_at, -1, value_at, value_len
        if tag == 10:
            name_at, name_len = start, stop - start
        else:
            value_at, value_len = start, stop - start
        at = stop
    return name_at, name_len, value_at, value_len


@jit
def type_index(data: int, at: int, size: int, names: int, types: int, count: int, guess: int) -> int:
    """Which declared type these bytes name; -1 if none. `guess` is tried first: batches repeat themselves."""
    if guess >= 0 and same(data, at, size, names, word(types, 2 * guess), word(types, 2 * guess + 1)):
        return guess
    for index in range(count):
        if same(data, at, size, names, word(types, 2 * index), word(types, 2 * index + 1)):
            return index
    return -1
