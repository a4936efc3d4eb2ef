"""Walks the bytes of a raw batch once, compiled, and writes what becomes of each usual event.

In:  a RawBatch's bytes; the declared types (declared.py) and what the batch's events share (batch.py), as arrays.
Out: per event one row of `rows`, and in `out` its bytes for events.enriched.v1 (all but the enrichments) and for its
     table's topic.
An event that is not usual has STATUS SLOW, nothing in `out`, and is left to Python: no number, of another boot, a clock
that needs more thought, a key that must be escaped, bytes that are not right. So this code decides nothing by itself;
tests hold it against the Python that it saves.

Positions are int64 offsets; `data`, `out`, ... are addresses (see penstock.wire.memory). Every read of `data` lies
below an `end` that was checked; that there is room in `out` is the caller's business.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from penstock.wire.fields import attribute, device_time, jit, same, span, type_index, utf8, varint
from penstock.wire.memory import byte, put, put_byte, word
from penstock.wire.writing import copy, murmur2, put_big_endian, put_sized, put_varint, varint_size

# Columns of `rows`. Places in the batch: the event, and the values of its enrichments' keys; all others are in `out`.
STATUS, AT, END, TYPE, SEQ, T_US, BASE_AT, BASE_END, KEY_AT, KEY_END = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
ROW_AT, ROW_END, ROW_KEY_AT, ROW_KEY_END, PARTITION, ON_AT = 10, 11, 12, 13, 14, 15
ONS_MAX = 4
WALL, STEADY, HAS_STEADY = ON_AT + 2 * ONS_MAX, ON_AT + 2 * ONS_MAX + 1, ON_AT + 2 * ONS_MAX + 2
TYPE_AT, TYPE_LEN, OTHER_BOOT = HAS_STEADY + 1, HAS_STEADY + 2, HAS_STEADY + 3
ROW_COLUMNS = OTHER_BOOT + 1
SLOW, USUAL = 0, 1

# Columns of a type's shape. KEY_NAME, PARTITION_NAME: number of an attribute; -1: the device, the row's key.
IS_USUAL, KEY_NAME, ONS, ON_NAME = 0, 1, 2, 3
WRITES_ROW, HEAD_AT, HEAD_LEN, ROW_KEYS, ROW_KEY_NAME = 7, 8, 9, 10, 11
PARTITION_NAME, PARTITIONS, COLUMNS, COLUMN = 15, 16, 17, 18  # each column: its attribute, its entry's name at, size
COLUMNS_MAX = 64
SHAPE_COLUMNS = COLUMN + 3 * COLUMNS_MAX

# What the events of a batch share: numbers, and (at, size) of pieces of `parts`.
BY_STEADY, SENT, RECEIVED, OFFSET, BOUNDED, LOW, HIGH, PPM = 0, 1, 2, 3, 4, 5, 6, 7
HAS_FLOOR, FLOOR_SEQ, FLOOR_DEVICE, FLOOR_CORRECTED = 8, 9, 10, 11
TAIL_PART, CLOCK_PART, HOW_PART, DEVICE_PART, POSITION_PART, SOURCE_PART = 12, 14, 16, 18, 20, 22
SHARED_COLUMNS = 24

# Products of ages and drifts stay below 2^63; older events are Python's.
AGE_US_MAX = 1 << 43
TIME_US_MAX = 1 << 55

KEY_TAG_1, KEY_TAG_2, CLOCK_TAG_1, CLOCK_TAG_2 = 0x8A, 0x01, 0x92, 0x01  # fields 17 and 18 of an Event
CORRECTED_TAG, BOUND_TAG = 0x18, 0x20
COLUMNS_TAG, VERSION_TAG, SOURCE_TAG, ROW_BOUND_TAG, VALID_FROM_TAG, POSITION_TAG = 0x22, 0x32, 0x3A, 0x48, 0x08, 0x12
SLASH, PERCENT = 0x2F, 0x25


@jit
def plain(data: int, at: int, end: int) -> bool:
    """Whether a value is its own key: nothing in it must be escaped."""
    escaped = 0
    for index in range(at, end):
        escaped += byte(data, index) == SLASH or byte(data, index) == PERCENT
    return escaped == 0


@jit
def read_attribute(data: int, start: int, stop: int, names: int, known: int, count: int, values: int) -> bool:
    """Notes where the value of an attribute lies that somebody wants; of several of one name, the last."""
    name_at, name_len, value_at, value_len = attribute(data, start, stop)
    if name_len < 0:
        return False
    for number in range(count):
        if same(data, name_at, name_len, names, word(known, 2 * number), word(known, 2 * number + 1)):
            put(values, 2 * number, value_at)
            put(values, 2 * number + 1, value_at + value_len)
            return True
    return True


@jit
def read_event(data: int, row: int, names: int, known: int, count: int, values: int) -> bool:
    """Reads an event's fields into `row` and the places of its attributes into `values`; False if it is not usual."""
    at, end = word(row, AT), word(row, END)
    for number in range(2 * count):
        put(values, number, 0)
    while at < end:
        tag, at = varint(data, at, end)
        field = tag >> 3
        if at < 0 or field < 1 or field > 10 or tag & 7 != (0 if field == 3 else 2):
            return False
        if field == 3:
            seq, at = varint(data, at, end)
            if at < 0:
                return False
            put(row, SEQ, seq)
            continue
        start, at = span(data, at, end)
        if at < 0:
            return False
        if field == 2:
            put(row, TYPE_AT, start)
            put(row, TYPE_LEN, at - start)
        elif field == 4:
            if not device_time(data, start, at, row, WALL):
                return False
        elif field == 5:
            if not read_attribute(data, start, at, names, known, count, values):
                return False
        elif field == 8:
            put(row, OTHER_BOOT, 1)
        elif field != 6 and not utf8(data, start, at):
            return False
    return word(row, SEQ) > 0 and word(row, OTHER_BOOT) == 0


@jit
def device_us(row: int, shared: int) -> int:
    """The event's time by the batch's clock; 0 if it needs more thought."""
    if word(shared, BY_STEADY) != 0:
        device = word(row, STEADY) if word(row, HAS_STEADY) != 0 else 0
    else:
        device = word(row, WALL)
    # At its sending or before, but not for ever: anything else is clamped, explained or doubted, in Python.
    age = word(shared, SENT) - device
    return device if 0 < device < TIME_US_MAX and 0 <= age < AGE_US_MAX else 0


@jit
def corrected_us(device: int, seq: int, shared: int) -> int:
    corrected = device + word(shared, OFFSET)
    if word(shared, HAS_FLOOR) != 0 and seq > word(shared, FLOOR_SEQ) and device >= word(shared, FLOOR_DEVICE):
        corrected = max(corrected, word(shared, FLOOR_CORRECTED))
    return min(corrected, word(shared, RECEIVED))


@jit
def bound_us(device: int, corrected: int, shared: int) -> int:
    ppm = word(shared, PPM)
    aging = ((word(shared, SENT) - device) * ppm + 1_000_000 - ppm - 1) // (1_000_000 - ppm)
    low = device + word(shared, LOW) - aging
    high = min(device + word(shared, HIGH) + aging, word(shared, SENT) + word(shared, HIGH))
    return max(corrected - low, high - corrected)


@jit
def put_part(out: int, at: int, parts: int, shared: int, part: int) -> int:
    return copy(parts, word(shared, part), word(shared, part + 1), out, at)


@jit
def put_base(
    data: int, row: int, shape: int, values: int, shared: int, parts: int, bound: int, out: int, at: int
) -> int:
    """The event's own bytes and our part of them."""
    t_us = word(row, T_US)
    put(row, BASE_AT, at)
    at = copy(data, word(row, AT), word(row, END) - word(row, AT), out, at)
    at = put_part(out, at, parts, shared, TAIL_PART)
    put_byte(out, at, KEY_TAG_1)
    put_byte(out, at + 1, KEY_TAG_2)
    name = word(shape, KEY_NAME)
    source, begin, size = parts, word(shared, DEVICE_PART), word(shared, DEVICE_PART + 1)
    if name >= 0:
        source, begin, size = data, word(values, 2 * name), word(values, 2 * name + 1) - word(values, 2 * name)
    at = put_sized(out, at + 2, source, begin, size)
    put(row, KEY_AT, at - size)
    put(row, KEY_END, at)
    bounded = word(shared, BOUNDED) != 0
    size = word(shared, CLOCK_PART + 1) + word(shared, HOW_PART + 1) + 1 + varint_size(t_us)
    size += 1 + varint_size(bound) if bounded else 0
    put_byte(out, at, CLOCK_TAG_1)
    put_byte(out, at + 1, CLOCK_TAG_2)
    at = put_varint(out, at + 2, size)
    at = put_part(out, at, parts, shared, CLOCK_PART)
    put_byte(out, at, CORRECTED_TAG)
    at = put_varint(out, at + 1, t_us)
    if bounded:
        put_byte(out, at, BOUND_TAG)
        at = put_varint(out, at + 1, bound)
    at = put_part(out, at, parts, shared, HOW_PART)
    put(row, BASE_END, at)
    return at


@jit
def put_row_key(data: int, row: int, shape: int, values: int, out: int, at: int) -> int:
    """The values of the key, joined by slashes, behind their size."""
    count = word(shape, ROW_KEYS)
    size = count - 1
    for number in range(count):
        name = word(shape, ROW_KEY_NAME + number)
        size += word(values, 2 * name + 1) - word(values, 2 * name)
    at = put_varint(out, at, size)
    put(row, ROW_KEY_AT, at)
    for number in range(count):
        name = word(shape, ROW_KEY_NAME + number)
        if number > 0:
            put_byte(out, at, SLASH)
            at += 1
        at = copy(data, word(values, 2 * name), word(values, 2 * name + 1) - word(values, 2 * name), out, at)
    put(row, ROW_KEY_END, at)
    return at


@jit
def put_columns(data: int, shape: int, names: int, values: int, out: int, at: int) -> int:
    for number in range(word(shape, COLUMNS)):
        column = COLUMN + 3 * number
        name, entry_at, entry_len = word(shape, column), word(shape, column + 1), word(shape, column + 2)
        begin, size = word(values, 2 * name), word(values, 2 * name + 1) - word(values, 2 * name)
        if size > 0:
            put_byte(out, at, COLUMNS_TAG)
            at = put_varint(out, at + 1, entry_len + varint_size(size) + size)
            at = copy(names, entry_at, entry_len, out, at)
            at = put_sized(out, at, data, begin, size)
    return at


@jit
def put_row(
    data: int, row: int, shape: int, names: int, values: int, shared: int, parts: int, bound: int, out: int, at: int
) -> int:
    """The change of a table's row that follows from the event, as a RowChange."""
    put(row, ROW_AT, at)
    at = copy(names, word(shape, HEAD_AT), word(shape, HEAD_LEN), out, at)
    at = put_row_key(data, row, shape, values, out, at)
    at = put_columns(data, shape, names, values, out, at)
    position = word(shared, POSITION_PART + 1) + 8
    put_byte(out, at, VERSION_TAG)
    at = put_varint(out, at + 1, 1 + varint_size(word(row, T_US)) + 1 + varint_size(position) + position)
    put_byte(out, at, VALID_FROM_TAG)
    at = put_varint(out, at + 1, word(row, T_US))
    put_byte(out, at, POSITION_TAG)
    at = put_varint(out, at + 1, position)
    at = put_part(out, at, parts, shared, POSITION_PART)
    at = put_big_endian(out, at, word(row, SEQ))
    put_byte(out, at, SOURCE_TAG)
    at = put_varint(out, at + 1, word(shared, SOURCE_PART + 1))
    at = put_part(out, at, parts, shared, SOURCE_PART)
    if word(shared, BOUNDED) != 0:
        put_byte(out, at, ROW_BOUND_TAG)
        at = put_varint(out, at + 1, bound)
    put(row, ROW_END, at)
    source, begin, end = out, word(row, ROW_KEY_AT), word(row, ROW_KEY_END)
    name = word(shape, PARTITION_NAME)
    if name >= 0:
        source, begin, end = data, word(values, 2 * name), word(values, 2 * name + 1)
    put(row, PARTITION, (murmur2(source, begin, end - begin) & 0x7FFFFFFF) % word(shape, PARTITIONS))
    return at


@jit
def keys_are_plain(data: int, row: int, shape: int, values: int) -> bool:
    """Notes where the keys of the enrichments lie; False if one of them, or of the row, must be escaped."""
    for number in range(word(shape, ONS)):
        name = word(shape, ON_NAME + number)
        begin, end = word(values, 2 * name), word(values, 2 * name + 1)
        put(row, ON_AT + 2 * number, begin)
        put(row, ON_AT + 2 * number + 1, end)
        if not plain(data, begin, end):
            return False
    for number in range(word(shape, ROW_KEYS)):
        name = word(shape, ROW_KEY_NAME + number)
        if not plain(data, word(values, 2 * name), word(values, 2 * name + 1)):
            return False
    return True


@jit
def assemble(
    data_array: NDArray[np.uint8],
    spans: NDArray[np.int64],
    names_array: NDArray[np.uint8],
    types_array: NDArray[np.int64],
    known_array: NDArray[np.int64],
    shapes_array: NDArray[np.int64],
    shared_array: NDArray[np.int64],
    parts_array: NDArray[np.uint8],
    rows_array: NDArray[np.int64],
    out_array: NDArray[np.uint8],
) -> int:
    """Fills a row per event, `spans` being where each lies; returns how much of `out` is used."""
    data, names, types, known = (
        data_array.ctypes.data, names_array.ctypes.data, types_array.ctypes.data, known_array.ctypes.data,
    )  # fmt: skip
    shapes, shared, parts, out = (
        shapes_array.ctypes.data, shared_array.ctypes.data, parts_array.ctypes.data, out_array.ctypes.data,
    )  # fmt: skip
    values_array = np.zeros(2 * max(1, known_array.shape[0]), np.int64)
    values = values_array.ctypes.data
    used, kind = 0, -1
    for index in range(spans.shape[0]):
        row = rows_array.ctypes.data + 8 * ROW_COLUMNS * index
        for column in range(ROW_COLUMNS):
            put(row, column, 0)
        put(row, AT, spans[index, 0])
        put(row, END, spans[index, 1])
        if not read_event(data, row, names, known, known_array.shape[0], values):
            continue
        found = type_index(data, word(row, TYPE_AT), word(row, TYPE_LEN), names, types, types_array.shape[0], kind)
        if found < 0:
            continue
        kind = found
        shape = shapes + 8 * SHAPE_COLUMNS * kind
        device = device_us(row, shared)
        if word(shape, IS_USUAL) == 0 or device == 0 or not keys_are_plain(data, row, shape, values):
            continue
        put(row, TYPE, kind)
        put(row, T_US, corrected_us(device, word(row, SEQ), shared))
        if word(row, T_US) < 0:
            continue
        bound = bound_us(device, word(row, T_US), shared) if word(shared, BOUNDED) != 0 else 0
        used = put_base(data, row, shape, values, shared, parts, bound, out, used)
        if word(shape, WRITES_ROW) != 0:
            used = put_row(data, row, shape, names, values, shared, parts, bound, out, used)
        put(row, STATUS, USUAL)
    return used


@jit
def event_spans(data_array: NDArray[np.uint8], spans: NDArray[np.int64]) -> int:
    """Where the events of a RawBatch lie; how many there are, of which as many as fit are in `spans`."""
    data, end, at, count = data_array.ctypes.data, data_array.shape[0], 0, 0
    while at < end:
        tag, at = varint(data, at, end)
        if at < 0 or tag & 7 != 2:
            return -1  # a RawBatch has no other wire type
        start, at = span(data, at, end)
        if at < 0:
            return -1
        if tag >> 3 == 6:
            if count < spans.shape[0]:
                spans[count, 0] = start
                spans[count, 1] = at
            count += 1
    return count
