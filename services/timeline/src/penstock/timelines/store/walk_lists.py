"""The parts of an author's changes: posts, and lists of readers. Compiled; see walk.py."""

from __future__ import annotations

from penstock.timelines.store import changes as of
from penstock.timelines.store.changes import operation_at, told_at
from penstock.timelines.store.compiled import jit
from penstock.timelines.store.layout import Bool, Int
from penstock.timelines.store.memory import put_half
from penstock.wire.fields import span, varint
from penstock.wire.memory import byte, put, word

_INDEX_MAX = (1 << 31) - 1


@jit
def number_at(data: Int, at: Int) -> Int:
    """Eight little-endian bytes, as an int64 of the same bits."""
    low = byte(data, at) | byte(data, at + 1) << 8 | byte(data, at + 2) << 16 | byte(data, at + 3) << 24
    high = byte(data, at + 4) | byte(data, at + 5) << 8 | byte(data, at + 6) << 16 | byte(data, at + 7) << 24
    return low | high << 32


@jit
def skipped(data: Int, tag: Int, at: Int, end: Int) -> Int:
    """Where a field ends that this release does not know; -1 if it does not end."""
    wire = tag & 7
    if at < 0 or tag < 8:
        return -1
    if wire == 0:
        _, at = varint(data, at, end)
    elif wire == 2:
        _, at = span(data, at, end)
    elif wire in (1, 5):
        at += 8 if wire == 1 else 4
        at = at if at <= end else -1
    else:
        return -1
    return at


@jit
def walk_post(data: Int, at: Int, end: Int, c: Int, author: Int) -> Int:
    row = word(c, of.POSTS)
    if row == word(c, of.POSTS_MAX):
        return of.FULL
    put(c, of.POSTS, row + 1)
    post = told_at(c, row)
    post["author"] = author
    post["at"] = at
    post["size"] = end - at
    post["number"] = post["time_us"] = 0
    post["id_at"] = post["id_size"] = post["by_at"] = post["by_size"] = 0
    while at < end:
        tag, at = varint(data, at, end)
        if at >= 0 and tag in (10, 18):
            start, at = span(data, at, end)
            if tag == 10:
                post["id_at"] = start
                post["id_size"] = at - start
            else:
                post["by_at"] = start
                post["by_size"] = at - start
        elif at >= 0 and tag == 24:
            post["time_us"], at = varint(data, at, end)
        elif at >= 0 and tag == 57 and at + of.NUMBER_BYTES <= end:
            post["number"] = number_at(data, at)
            at += of.NUMBER_BYTES
        else:
            at = skipped(data, tag, at, end)
        if at < 0:
            return of.NOT_PROTOBUF
    return of.OK


@jit
def walk_operation(data: Int, tag: Int, at: Int, end: Int, c: Int, author: Int) -> Int:
    """A list of readers: as such (unfollowed, followed), or in a Withdrawal or a Spread."""
    row = word(c, of.OPS)
    if row == word(c, of.OPS_MAX):
        return of.FULL
    put(c, of.OPS, row + 1)
    operation = operation_at(c, row)
    operation["author"] = author
    operation["readers_at"] = operation["readers"] = 0
    operation["posts_at"] = word(c, of.INDEXES)
    operation["posts"] = operation["outbox"] = operation["older_left_out"] = 0
    code = of.OK
    if tag in (18, 34):
        operation["op"] = of.UNFOLLOWED if tag == 18 else of.FOLLOWED
        operation["readers_at"] = at
        operation["readers"] = end - at
    elif tag == 26:
        operation["op"] = of.WITHDRAWN
        code = walk_withdrawal(data, at, end, c, row)
    else:
        operation["op"] = of.SPREAD
        code = walk_spread(data, at, end, c, row)
    if operation["readers"] % of.NUMBER_BYTES != 0:
        return of.NOT_NUMBERS
    operation["readers"] = 1 if operation["outbox"] != 0 else operation["readers"] // of.NUMBER_BYTES
    operation["first"] = word(c, of.READERS)
    put(c, of.READERS, word(c, of.READERS) + operation["readers"])
    return code


@jit
def walk_withdrawal(data: Int, at: Int, end: Int, c: Int, row: Int) -> Int:
    operation = operation_at(c, row)
    while at < end:
        tag, at = varint(data, at, end)
        if at >= 0 and tag in (10, 18):
            start, at = span(data, at, end)
            if tag == 10:
                operation["posts_at"] = start
                operation["posts"] = at - start
            else:
                operation["readers_at"] = start
                operation["readers"] = at - start
        elif at >= 0 and tag == 24:
            flag, at = varint(data, at, end)
            operation["outbox"] = flag != 0
        else:
            at = skipped(data, tag, at, end)
        if at < 0:
            return of.NOT_PROTOBUF
    if operation["posts"] % of.NUMBER_BYTES != 0:
        return of.NOT_NUMBERS
    operation["posts"] //= of.NUMBER_BYTES
    return of.OK


@jit
def walk_spread(data: Int, at: Int, end: Int, c: Int, row: Int) -> Int:
    """Indexes may be packed or not."""
    operation = operation_at(c, row)
    while at < end:
        tag, at = varint(data, at, end)
        if at >= 0 and tag == 10:
            start, at = span(data, at, end)
            while start < at:
                index, start = varint(data, start, at)
                if start < 0:
                    return of.NOT_PROTOBUF
                if not add_index(c, row, index):
                    return of.FULL
        elif at >= 0 and tag == 8:
            index, at = varint(data, at, end)
            if at >= 0 and not add_index(c, row, index):
                return of.FULL
        elif at >= 0 and tag == 18:
            start, at = span(data, at, end)
            operation["readers_at"] = start
            operation["readers"] = at - start
        elif at >= 0 and tag in (24, 32):
            flag, at = varint(data, at, end)
            if tag == 24:
                operation["outbox"] = flag != 0
            else:
                operation["older_left_out"] = flag != 0
        else:
            at = skipped(data, tag, at, end)
        if at < 0:
            return of.NOT_PROTOBUF
    return of.OK


@jit
def add_index(c: Int, row: Int, index: Int) -> Bool:
    """Whether there was room."""
    at = word(c, of.INDEXES)
    if at == word(c, of.INDEXES_MAX):
        return False
    put_half(word(c, of.INDEXES_AT), at, index if 0 <= index < _INDEX_MAX else _INDEX_MAX)
    put(c, of.INDEXES, at + 1)
    operation_at(c, row)["posts"] += 1
    return True
