"""Walks the bytes of a PublishRequest once, compiled, and says of every event whether it may pass.

In:  the request's bytes, the declared types as arrays (see gate.py), the limits.
Out: one row of `rows` per event and one `head` for the request, both plain int64 arrays.
     A request that is not a PublishRequest gives head[STATUS] != OK and the byte where it goes wrong.

Why not protobuf's own parser: it cannot say whether a device set a field that only our services may set, and
checking events through its Python objects costs ten times as much (make bench-ingest measures both).
What passes here parses as penstock.ingest.v1.PublishRequest with the same content: test_wire.py fuzzes that.

Positions are int64 offsets into the request; `data`, `names`, `row`, ... are addresses (see penstock.wire.memory).
Every read of `data` lies below an `end` that was checked against the request's size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from penstock.wire.fields import attribute, device_time, jit, same, span, type_index, utf8, varint
from penstock.wire.memory import put, word

# Columns of `head`.
STATUS, STATUS_AT, STATUS_FIELD, EVENTS, PASSED = 0, 1, 2, 3, 4
DEVICE_AT, DEVICE_LEN, BOOT_AT, BOOT_LEN, TOKEN_AT, TOKEN_LEN = 5, 6, 7, 8, 9, 10
SENT_WALL, SENT_STEADY, SENT_HAS_STEADY = 11, 12, 13
REPLY_WALL, REPLY_STEADY, REPLY_HAS_STEADY = 14, 15, 16
# CONTIGUOUS: all events passed, are of the batch's boot, and their numbers go up by one from FIRST_SEQ.
FIRST_SEQ, LAST_SEQ, CONTIGUOUS = 17, 18, 19
HEAD_COLUMNS = 20

# Values of head[STATUS]; the words for people are in gate.py.
OK, TRUNCATED, BAD_TAG, UNKNOWN_FIELD, WRONG_WIRE_TYPE, BAD_CONTENT, TOO_MANY_EVENTS = 0, 1, 2, 3, 4, 5, 6

# Columns of `rows`.
CODE, ARG, AT, END, TYPE, TYPE_AT, TYPE_LEN, SEQ, WALL, STEADY, HAS_STEADY = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
OTHER_BOOT, ID_AT, ID_LEN, ROW_BOOT_AT, ROW_BOOT_LEN = 11, 12, 13, 14, 15
ROW_COLUMNS = 16

# Values of rows[:, CODE]: numbers of penstock.events.v1.RefusalReason (test_gate.py holds them together).
PASS, MALFORMED, NO_IDENTITY, UNKNOWN_TYPE, MISSING_ATTRIBUTE = 0, 2, 3, 4, 5
TOO_MANY_ATTRIBUTES, NAME_SIZE, VALUE_SIZE, DATA_SIZE, FORBIDDEN_FIELD, FIELD_SIZE = 6, 7, 8, 9, 10, 11

# Indexes into the array of limits.
EVENTS_MAX, ATTRIBUTES_MAX, NAME_MAX, VALUE_MAX, DATA_MAX = 0, 1, 2, 3, 4
LIMITS = 5

ID_MAX, TYPE_MAX, CONTENT_TYPE_MAX, BOOT_MAX, TRACEPARENT_MAX, TRACESTATE_MAX = 128, 128, 128, 64, 64, 512
REQUIRED_MAX = 64  # one bit each


@jit
def text_limit(field: int) -> int:
    """The size that a text field of an event may have."""
    if field == 7:
        return CONTENT_TYPE_MAX
    if field == 8:
        return BOOT_MAX
    if field == 9:
        return TRACEPARENT_MAX
    if field == 10:
        return TRACESTATE_MAX
    return ID_MAX if field == 1 else TYPE_MAX


@jit
def refuse(row: int, code: int, arg: int) -> None:
    """Keeps the first reason; MALFORMED wins over all, since nothing else can be trusted then."""
    if word(row, CODE) == PASS or (code == MALFORMED and word(row, CODE) != MALFORMED):
        put(row, CODE, code)
        put(row, ARG, arg)


@jit
def event_content(data: int, field: int, start: int, stop: int, row: int, limits: int) -> None:
    """Takes one length-delimited field of an event, attributes excepted."""
    if field == 4:
        if not device_time(data, start, stop, row, WALL):
            refuse(row, MALFORMED, field)
    elif field == 6:
        if stop - start > word(limits, DATA_MAX):
            refuse(row, DATA_SIZE, stop - start)
    elif not utf8(data, start, stop):
        refuse(row, MALFORMED, field)
    elif stop - start > text_limit(field):
        refuse(row, FIELD_SIZE, field)
    if field == 1 or field == 2 or field == 8:
        column = ID_AT if field == 1 else (TYPE_AT if field == 2 else ROW_BOOT_AT)
        put(row, column, start)
        put(row, column + 1, stop - start)


@jit
def event_fields(data: int, row: int, entries: int, limits: int) -> int:
    """Reads the event's fields into `row` and where its attributes lie into `entries`; how many those are."""
    at, end = word(row, AT), word(row, END)
    count = 0
    while at < end:
        tag, at = varint(data, at, end)
        field = tag >> 3
        if at < 0 or field < 1 or tag > 0xFFFFFFFF:
            refuse(row, MALFORMED, 0)
            return count
        if field > 10:
            # Not a field of the device's part in this version. What follows is not looked at.
            refuse(row, FORBIDDEN_FIELD, field)
            return count
        if tag & 7 != (0 if field == 3 else 2):
            refuse(row, MALFORMED, field)
            return count
        if field == 3:
            seq, at = varint(data, at, end)
            put(row, SEQ, seq)
            if at < 0:
                refuse(row, MALFORMED, field)
                return count
            if seq < 0:  # 2^63 and above
                refuse(row, FIELD_SIZE, field)
            continue
        start, at = span(data, at, end)
        if at < 0:
            refuse(row, MALFORMED, field)
            return count
        if field != 5:
            event_content(data, field, start, at, row, limits)
            continue
        if count < word(limits, ATTRIBUTES_MAX):
            put(entries, 2 * count, start)
            put(entries, 2 * count + 1, at)
        count += 1
    return count


@jit
def event_attributes(
    data: int, row: int, entries: int, count: int, names: int, required: int, required_count: int, limits: int
) -> None:
    """Checks form and sizes, and that every required attribute is there and not empty (the last of a name counts)."""
    present = 0
    for index in range(count):
        name_at, name_len, _, value_len = attribute(data, word(entries, 2 * index), word(entries, 2 * index + 1))
        if name_len < 0:
            refuse(row, MALFORMED, 5)
            return
        if name_len == 0 or name_len > word(limits, NAME_MAX):
            refuse(row, NAME_SIZE, name_len)
        if value_len > word(limits, VALUE_MAX):
            refuse(row, VALUE_SIZE, value_len)
        for number in range(required_count):
            at, size = word(required, 2 * number), word(required, 2 * number + 1)
            if same(data, name_at, name_len, names, at, size):
                bit = 1 << number
                present = present | bit if value_len > 0 else present & ~bit
    for number in range(required_count):
        if present >> number & 1 == 0:
            refuse(row, MISSING_ATTRIBUTE, number)
            return


@jit
def event(
    data: int,
    row: int,
    entries: int,
    names: int,
    types: int,
    type_count: int,
    required: int,
    limits: int,
    guess: int,
) -> int:
    """Judges one event; returns the index of its type, or `guess` if it has none, for the next event."""
    count = event_fields(data, row, entries, limits)
    kind = type_index(data, word(row, TYPE_AT), word(row, TYPE_LEN), names, types, type_count, guess)
    put(row, TYPE, kind)
    if count > word(limits, ATTRIBUTES_MAX):
        refuse(row, TOO_MANY_ATTRIBUTES, count)
        return guess
    # `required` holds for each type: how many, then (at, size) of each name. Of an unknown type, check the form only.
    needs = required + 8 * max(kind, 0) * (1 + 2 * REQUIRED_MAX)
    needed = word(needs, 0) if kind >= 0 else 0
    if kind < 0:
        refuse(row, UNKNOWN_TYPE, 0)
    event_attributes(data, row, entries, count, names, needs + 8, needed, limits)
    if word(row, SEQ) == 0 and word(row, ID_LEN) == 0:
        refuse(row, NO_IDENTITY, 0)
    return kind if kind >= 0 else guess


@jit
def request_content(data: int, field: int, start: int, stop: int, head: int) -> bool:
    """Takes one field of the request other than its events; False if its content is not right."""
    if field == 3:
        return device_time(data, start, stop, head, SENT_WALL)
    if field == 5:
        return device_time(data, start, stop, head, REPLY_WALL)
    column = DEVICE_AT if field == 1 else (BOOT_AT if field == 2 else TOKEN_AT)
    put(head, column, start)
    put(head, column + 1, stop - start)
    return field == 4 or utf8(data, start, stop)


@jit
def fault(tag: int, after_tag: int) -> int:
    """Whether a field of the request may stand there at all."""
    if after_tag < 0 or tag < 8 or tag > 0xFFFFFFFF:
        return BAD_TAG
    if tag >> 3 > 6:
        return UNKNOWN_FIELD
    return OK if tag & 7 == 2 else WRONG_WIRE_TYPE


@jit
def walk(
    data: int,
    end: int,
    head: int,
    rows: int,
    entries: int,
    names: int,
    types: int,
    type_count: int,
    required: int,
    limits: int,
) -> None:
    """The whole request: fills `head` and the first head[EVENTS] rows. All arrays are given by address."""
    for column in range(HEAD_COLUMNS):
        put(head, column, 0)
    at, count, passed, guess = 0, 0, 0, -1
    while at < end:
        begin = at
        tag, at = varint(data, at, end)
        field = tag >> 3
        status = fault(tag, at)
        start, stop = 0, 0
        if status == OK:
            start, stop = span(data, at, end)
            if stop < 0:
                status = TRUNCATED
            elif field != 6 and not request_content(data, field, start, stop, head):
                status = BAD_CONTENT
            elif field == 6 and count >= word(limits, EVENTS_MAX):
                status = TOO_MANY_EVENTS
        if status != OK:
            put(head, STATUS, status)
            put(head, STATUS_AT, begin)
            put(head, STATUS_FIELD, field)
            return
        at = stop
        if field == 6:
            row = rows + 8 * ROW_COLUMNS * count
            for column in range(ROW_COLUMNS):
                put(row, column, 0)
            put(row, AT, start)
            put(row, END, stop)
            guess = event(data, row, entries, names, types, type_count, required, limits, guess)
            count += 1
    contiguous = 1 if count > 0 else 0
    for index in range(count):
        row = rows + 8 * ROW_COLUMNS * index
        boot_at, boot_len = word(row, ROW_BOOT_AT), word(row, ROW_BOOT_LEN)
        if boot_len > 0 and not same(data, boot_at, boot_len, data, word(head, BOOT_AT), word(head, BOOT_LEN)):
            put(row, OTHER_BOOT, 1)
        if index == 0:
            put(head, FIRST_SEQ, word(row, SEQ))
        follows = word(row, SEQ) == word(head, FIRST_SEQ) + index and word(row, SEQ) > 0
        if not follows or word(row, OTHER_BOOT) != 0 or word(row, CODE) != PASS:
            contiguous = 0
        put(head, LAST_SEQ, word(row, SEQ))
        passed += word(row, CODE) == PASS
    put(head, CONTIGUOUS, contiguous)
    put(head, EVENTS, count)
    put(head, PASSED, passed)


@jit
def inspect(
    data: NDArray[np.uint8],
    head: NDArray[np.int64],
    rows: NDArray[np.int64],
    entries: NDArray[np.int64],
    names: NDArray[np.uint8],
    types: NDArray[np.int64],
    required: NDArray[np.int64],
    limits: NDArray[np.int64],
) -> None:
    """walk() for arrays: `rows` has limits[EVENTS_MAX] rows, `entries` limits[ATTRIBUTES_MAX]."""
    walk(
        data.ctypes.data,
        data.shape[0],
        head.ctypes.data,
        rows.ctypes.data,
        entries.ctypes.data,
        names.ctypes.data,
        types.ctypes.data,
        types.shape[0],
        required.ctypes.data,
        limits.ctypes.data,
    )
