"""Walks the bytes of a Delivery once, compiled, and notes where things lie.

In:  the record's address and size, and arrays to write rows into.
Out: the rows (changes.py), and a code: OK, or what is wrong. FULL: one of the arrays is too short; to be tried again.
What protobuf accepts is accepted (tests compare), but for what breaks the contract of delivery.proto.
Positions are offsets in the record; every read lies below an `end` that was checked.
"""

from __future__ import annotations

from penstock.timelines.store.changes import (
    AT,
    AUTHOR,
    AUTHORS,
    BY_AT,
    BY_SIZE,
    FAULT_AT,
    FIRST,
    FOLLOWED,
    FULL,
    ID_AT,
    ID_SIZE,
    INDEXES,
    NAME_AT,
    NAME_SIZE,
    NO_SUCH_POST,
    NOT_NUMBERS,
    NOT_PROTOBUF,
    NOT_TEXT,
    NUMBER,
    NUMBER_BYTES,
    OK,
    OLDER_LEFT_OUT,
    OP,
    OP_AUTHOR,
    OPS,
    OTHER_AUTHOR,
    OUTBOX,
    POST_COUNT,
    POSTS,
    POSTS_AT,
    READER_COUNT,
    READERS,
    READERS_AT,
    REFILLED,
    SIZE,
    SPREAD,
    TIME_US,
    UNFOLLOWED,
    WITHDRAWN,
    Changes,
)
from penstock.timelines.store.layout import Bool, Int
from penstock.wire.fields import jit, same, span, utf8, varint
from penstock.wire.memory import byte


@jit
def number_at(data: Int, at: Int) -> Int:
    """Eight little-endian bytes, as an int64 of the same bits."""
    value = 0
    for index in range(NUMBER_BYTES):
        value |= byte(data, at + index) << 8 * index
    return value


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
    elif wire in {1, 5}:
        at += 8 if wire == 1 else 4
        at = at if at <= end else -1
    else:
        return -1
    return at


@jit
def walk(data: Int, size: Int, c: Changes) -> Int:
    """A Delivery."""
    head = c.head
    head[:] = 0
    at = 0
    while at < size:
        head[FAULT_AT] = at
        tag, at = varint(data, at, size)
        if at < 0:
            return NOT_PROTOBUF
        if tag in {8, 16, 24, 32, 40}:
            head[(tag >> 3) - 1], at = varint(data, at, size)
        elif tag in {50, 58}:
            start, at = span(data, at, size)
            if at < 0:
                return NOT_PROTOBUF
            code = walk_author(data, start, at, c) if tag == 50 else walk_refilled(data, start, at, c)
            if code != OK:
                return code
        else:
            at = skipped(data, tag, at, size)
        if at < 0:
            return NOT_PROTOBUF
    return OK


@jit
def walk_refilled(data: Int, at: Int, end: Int, c: Changes) -> Int:
    row = c.head[REFILLED]
    if row == len(c.refilled):
        return FULL
    c.head[REFILLED] = row + 1
    c.refilled[row, 0] = 0
    c.refilled[row, 1] = 0
    while at < end:
        tag, at = varint(data, at, end)
        if at >= 0 and tag == 9 and at + NUMBER_BYTES <= end:
            c.refilled[row, 0] = number_at(data, at)
            at += NUMBER_BYTES
        elif at >= 0 and tag == 16:
            c.refilled[row, 1], at = varint(data, at, end)
        else:
            at = skipped(data, tag, at, end)
        if at < 0:
            return NOT_PROTOBUF
    return OK


@jit
def walk_author(data: Int, at: Int, end: Int, c: Changes) -> Int:
    head = c.head
    author, first_post, first_op = head[AUTHORS], head[POSTS], head[OPS]
    if author == len(c.authors):
        return FULL
    head[AUTHORS] = author + 1
    name = c.authors[author]
    name[NAME_AT] = 0
    name[NAME_SIZE] = 0
    while at < end:
        head[FAULT_AT] = at
        tag, at = varint(data, at, end)
        if tag in {10, 18, 26, 34, 42, 50} and at >= 0:
            start, at = span(data, at, end)
            if at < 0:
                return NOT_PROTOBUF
            code = OK
            if tag == 10:
                name[NAME_AT] = start
                name[NAME_SIZE] = at - start
            elif tag == 42:
                code = walk_post(data, start, at, c, author)
            else:
                code = walk_op(data, tag, start, at, c, author)
            if code != OK:
                return code
        else:
            at = skipped(data, tag, at, end)
        if at < 0:
            return NOT_PROTOBUF
    return checked(data, c, author, first_post, first_op)


@jit
def checked(data: Int, c: Changes, author: Int, first_post: Int, first_op: Int) -> Int:
    """An author's changes, once all are there; indexes of posts become rows."""
    name_at, name_size = c.authors[author, NAME_AT], c.authors[author, NAME_SIZE]
    if not utf8(data, name_at, name_at + name_size):
        return NOT_TEXT
    for row in range(first_post, c.head[POSTS]):
        post = c.posts[row]
        if not same(data, post[BY_AT], post[BY_SIZE], data, name_at, name_size):
            return OTHER_AUTHOR
        if not utf8(data, post[ID_AT], post[ID_AT] + post[ID_SIZE]):
            return NOT_TEXT
    posts = c.head[POSTS] - first_post
    for row in range(first_op, c.head[OPS]):
        op = c.ops[row]
        if op[OP] == SPREAD:
            for index in range(op[POSTS_AT], op[POSTS_AT] + op[POST_COUNT]):
                if c.indexes[index] >= posts:
                    return NO_SUCH_POST
                c.indexes[index] += first_post
    return OK


@jit
def walk_post(data: Int, at: Int, end: Int, c: Changes, author: Int) -> Int:
    row = c.head[POSTS]
    if row == len(c.posts):
        return FULL
    c.head[POSTS] = row + 1
    post = c.posts[row]
    post[:] = 0
    post[AUTHOR] = author
    post[AT] = at
    post[SIZE] = end - at
    while at < end:
        tag, at = varint(data, at, end)
        if at >= 0 and tag in {10, 18}:
            start, at = span(data, at, end)
            if at >= 0:
                post[ID_AT if tag == 10 else BY_AT] = start
                post[ID_SIZE if tag == 10 else BY_SIZE] = at - start
        elif at >= 0 and tag == 24:
            post[TIME_US], at = varint(data, at, end)
        elif at >= 0 and tag == 57 and at + NUMBER_BYTES <= end:
            post[NUMBER] = number_at(data, at)
            at += NUMBER_BYTES
        else:
            at = skipped(data, tag, at, end)
        if at < 0:
            return NOT_PROTOBUF
    return OK


@jit
def walk_op(data: Int, tag: Int, at: Int, end: Int, c: Changes, author: Int) -> Int:
    """A list of readers, as such (unfollowed, followed) or in a Withdrawal or a Spread."""
    row = c.head[OPS]
    if row == len(c.ops):
        return FULL
    c.head[OPS] = row + 1
    op = c.ops[row]
    op[:] = 0
    op[OP_AUTHOR] = author
    op[POSTS_AT] = c.head[INDEXES]
    code = OK
    if tag in {18, 34}:
        op[OP] = UNFOLLOWED if tag == 18 else FOLLOWED
        op[READERS_AT] = at
        op[READER_COUNT] = end - at
    else:
        op[OP] = WITHDRAWN if tag == 26 else SPREAD
        code = walk_list(data, at, end, c, row)
    if code != OK:
        return code
    if op[READER_COUNT] % NUMBER_BYTES != 0 or (op[OP] == WITHDRAWN and op[POST_COUNT] % NUMBER_BYTES != 0):
        return NOT_NUMBERS
    op[READER_COUNT] = 1 if op[OUTBOX] != 0 else op[READER_COUNT] // NUMBER_BYTES
    if op[OP] == WITHDRAWN:
        op[POST_COUNT] //= NUMBER_BYTES
    op[FIRST] = c.head[READERS]
    c.head[READERS] += op[READER_COUNT]
    return OK


@jit
def walk_list(data: Int, at: Int, end: Int, c: Changes, row: Int) -> Int:
    """A Withdrawal or a Spread; counts are in bytes where they are of packed numbers."""
    op = c.ops[row]
    spread = op[OP] == SPREAD
    while at < end:
        tag, at = varint(data, at, end)
        if at >= 0 and tag == 10:
            start, at = span(data, at, end)
            if at >= 0 and not spread:
                op[POSTS_AT] = start
                op[POST_COUNT] = at - start
            while spread and start < at:
                index, start = varint(data, start, at)
                if start < 0:
                    return NOT_PROTOBUF
                if not add_index(c, row, index):
                    return FULL
        elif at >= 0 and tag == 8 and spread:
            index, at = varint(data, at, end)
            if at >= 0 and not add_index(c, row, index):
                return FULL
        elif at >= 0 and tag == 18:
            start, at = span(data, at, end)
            op[READERS_AT] = start
            op[READER_COUNT] = at - start
        elif at >= 0 and tag in {24, 32}:
            flag, at = varint(data, at, end)
            op[OUTBOX if tag == 24 else OLDER_LEFT_OUT] = flag != 0
        else:
            at = skipped(data, tag, at, end)
        if at < 0:
            return NOT_PROTOBUF
    return OK


@jit
def add_index(c: Changes, row: Int, index: Int) -> Bool:
    at = c.head[INDEXES]
    if at == len(c.indexes):
        return False
    c.indexes[at] = index & 0x7FFFFFFF if index >> 31 == 0 else 0x7FFFFFFF
    c.head[INDEXES] = at + 1
    c.ops[row, POST_COUNT] += 1
    return True
