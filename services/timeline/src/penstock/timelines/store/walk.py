"""Walks the bytes of a Delivery once, compiled, and notes where things lie.

In:  the record's address and size. Out: rows (changes.py), and a code: OK, or what is wrong; FULL where there are more
     rows than there is room for: to be tried again with more.
What protobuf accepts is accepted (tests compare), but for what breaks the contract of delivery.proto.
Positions are offsets in the record; every read lies below an `end` that was checked.
"""

from __future__ import annotations

from penstock.timelines.store import changes as of
from penstock.timelines.store.changes import changed_at, operation_at, refilled_at, told_at
from penstock.timelines.store.compiled import jit
from penstock.timelines.store.layout import Int
from penstock.timelines.store.memory import half, put_half
from penstock.timelines.store.walk_lists import number_at, skipped, walk_operation, walk_post
from penstock.wire.fields import same, span, utf8, varint
from penstock.wire.memory import put, word


@jit
def walk(data: Int, size: Int, c: Int) -> Int:
    """A Delivery."""
    for place in range(of.REFILLED + 1):
        put(c, place, 0)
    at = 0
    while at < size:
        put(c, of.FAULT_AT, at)
        tag, at = varint(data, at, size)
        if at >= 0 and tag in (8, 16, 24, 32, 40):
            value, at = varint(data, at, size)
            put(c, (tag >> 3) - 1, value)
        elif at >= 0 and tag in (50, 58):
            start, at = span(data, at, size)
            if at < 0:
                return of.NOT_PROTOBUF
            code = walk_author(data, start, at, c) if tag == 50 else walk_refilled(data, start, at, c)
            if code != of.OK:
                return code
        else:
            at = skipped(data, tag, at, size)
        if at < 0:
            return of.NOT_PROTOBUF
    return of.OK


@jit
def walk_refilled(data: Int, at: Int, end: Int, c: Int) -> Int:
    row = word(c, of.REFILLED)
    if row == word(c, of.REFILLED_MAX):
        return of.FULL
    put(c, of.REFILLED, row + 1)
    refilled = refilled_at(c, row)
    refilled["reader"] = refilled["request"] = 0
    while at < end:
        tag, at = varint(data, at, end)
        if at >= 0 and tag == 9 and at + of.NUMBER_BYTES <= end:
            refilled["reader"] = number_at(data, at)
            at += of.NUMBER_BYTES
        elif at >= 0 and tag == 16:
            refilled["request"], at = varint(data, at, end)
        else:
            at = skipped(data, tag, at, end)
        if at < 0:
            return of.NOT_PROTOBUF
    return of.OK


@jit
def walk_author(data: Int, at: Int, end: Int, c: Int) -> Int:
    """AuthorChanges."""
    row, first_post, first_op = word(c, of.AUTHORS), word(c, of.POSTS), word(c, of.OPS)
    if row == word(c, of.AUTHORS_MAX):
        return of.FULL
    put(c, of.AUTHORS, row + 1)
    author = changed_at(c, row)
    author["name_at"] = author["name_size"] = 0
    while at < end:
        put(c, of.FAULT_AT, at)
        tag, at = varint(data, at, end)
        if at >= 0 and tag in (10, 18, 26, 34, 42, 50):
            start, at = span(data, at, end)
            if at < 0:
                return of.NOT_PROTOBUF
            code = of.OK
            if tag == 10:
                author["name_at"] = start
                author["name_size"] = at - start
            elif tag == 42:
                code = walk_post(data, start, at, c, row)
            else:
                code = walk_operation(data, tag, start, at, c, row)
            if code != of.OK:
                return code
        else:
            at = skipped(data, tag, at, end)
        if at < 0:
            return of.NOT_PROTOBUF
    return checked(data, c, row, first_post, first_op)


@jit
def checked(data: Int, c: Int, row: Int, first_post: Int, first_op: Int) -> Int:
    """An author's changes, once all of them are there; indexes among the author's posts become rows."""
    author, posts = changed_at(c, row), word(c, of.POSTS) - first_post
    name_at, name_size = author["name_at"], author["name_size"]
    if not utf8(data, name_at, name_at + name_size):
        return of.NOT_TEXT
    for index in range(first_post, first_post + posts):
        post = told_at(c, index)
        if not same(data, post["by_at"], post["by_size"], data, name_at, name_size):
            return of.OTHER_AUTHOR
        if not utf8(data, post["id_at"], post["id_at"] + post["id_size"]):
            return of.NOT_TEXT
    indexes = word(c, of.INDEXES_AT)
    for index in range(first_op, word(c, of.OPS)):
        operation = operation_at(c, index)
        if operation["op"] == of.SPREAD:
            for place in range(operation["posts_at"], operation["posts_at"] + operation["posts"]):
                if half(indexes, place) >= posts:
                    return of.NO_SUCH_POST
                put_half(indexes, place, half(indexes, place) + first_post)
    return of.OK
