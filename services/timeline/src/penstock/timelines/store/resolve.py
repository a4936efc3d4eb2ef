"""From what a record says to rows: its authors, readers and posts, found or made.

Compiled; `data` is the address of the record. Readers are made where they begin to follow or are given posts, and only
found where something is taken from them. `make_readers` stops where rows run out, to go on when there are more.
"""

from __future__ import annotations

import numpy as np
from penstock.timelines.store import changes as of
from penstock.timelines.store.changes import changed_at, operation_at, told_at
from penstock.timelines.store.compiled import jit
from penstock.timelines.store.layout import (
    AUTHOR_PLACES,
    AUTHOR_TABLE_AT,
    NO_TIME,
    NONE,
    PARTITION,
    PARTITIONS,
    POST_PLACES,
    POST_TABLE_AT,
    USER_BYTES,
    USER_PLACES,
    USER_TABLE_AT,
    USERS,
    USERS_AT,
    USERS_MAX,
    Bool,
    Int,
    author_at,
    post_at,
)
from penstock.timelines.store.memory import FETCH_AHEAD, fetch, half, put_half
from penstock.timelines.store.order import sort_slots
from penstock.timelines.store.pool import piece_bytes
from penstock.timelines.store.rows import new_author, new_post, new_user, release_entry
from penstock.timelines.store.tables import find_author, find_post, find_user, home, name_hash
from penstock.timelines.store.walk_lists import number_at
from penstock.wire.memory import put, word

DONE = -1


@jit
def pool_bytes(c: Int) -> Int:
    """What the names of authors and the posts of a record take, at most."""
    total = 0
    for index in range(word(c, of.AUTHORS)):
        total += piece_bytes(changed_at(c, index)["name_size"])
    for index in range(word(c, of.POSTS)):
        total += piece_bytes(told_at(c, index)["size"])
    return total


@jit
def resolve_authors(s: Int, c: Int, data: Int) -> None:
    table, places = word(s, AUTHOR_TABLE_AT), word(s, AUTHOR_PLACES)
    for index in range(word(c, of.AUTHORS)):
        author = changed_at(c, index)
        author["row"] = name_hash(s, data + author["name_at"], author["name_size"])
        fetch(table + 4 * home(s, author["row"], places))
    for index in range(word(c, of.AUTHORS)):
        author = changed_at(c, index)
        name, size, hashed = data + author["name_at"], author["name_size"], author["row"]
        row = find_author(s, hashed, name, size)
        if row == NONE:
            row = new_author(s, hashed, name, size)
        author_at(s, row)["shard"] = word(c, of.SHARD)
        author["row"] = row


@jit
def number_readers(s: Int, c: Int, data: Int) -> Bool:
    """All readers' numbers in a row, as they are wanted next; False if one is of another partition."""
    partition, partitions = np.uint64(word(s, PARTITION)), np.uint64(word(s, PARTITIONS))
    ours = True
    for index in range(word(c, of.OPS)):
        operation = operation_at(c, index)
        if operation["outbox"] == 0:
            numbers, at = word(c, of.NUMBERS_AT) + 8 * operation["first"], data + operation["readers_at"]
            for reader in range(operation["readers"]):
                number = number_at(at, of.NUMBER_BYTES * reader)
                ours &= ((np.uint64(number) >> np.uint64(32)) * partitions) >> np.uint64(32) == partition
                put(numbers, reader, number)
    return ours


@jit
def find_readers(s: Int, c: Int) -> None:
    """Rows of those who are known."""
    numbers, readers, count = word(c, of.NUMBERS_AT), word(c, of.READERS_AT), word(c, of.READERS)
    table, places = word(s, USER_TABLE_AT), word(s, USER_PLACES)
    for reader in range(count):
        ahead = min(reader + FETCH_AHEAD, count - 1)
        fetch(word(s, USERS_AT) + USER_BYTES * half(table, home(s, word(numbers, ahead), places)))
        ahead = min(reader + 2 * FETCH_AHEAD, count - 1)
        fetch(table + 4 * home(s, word(numbers, ahead), places))
        put_half(readers, reader, find_user(s, word(numbers, reader)))


@jit
def make_readers(s: Int, c: Int, start: Int) -> Int:
    """Those who begin to follow or are given posts, from the operation `start` on: DONE, or where to go on."""
    for index in range(start, word(c, of.OPS)):
        operation = operation_at(c, index)
        readers, numbers = (
            word(c, of.READERS_AT) + 4 * operation["first"],
            word(c, of.NUMBERS_AT) + 8 * operation["first"],
        )
        if operation["outbox"] != 0:
            put_half(readers, 0, author_at(s, changed_at(c, operation["author"])["row"])["outbox"])
        elif operation["op"] >= of.FOLLOWED:
            for reader in range(operation["readers"]):
                if half(readers, reader) == NONE:
                    row = find_user(s, word(numbers, reader))
                    if row == NONE:
                        if word(s, USERS) == word(s, USERS_MAX):
                            return index
                        row = new_user(s, word(numbers, reader))
                    put_half(readers, reader, row)
    return DONE


@jit
def resolve_posts(s: Int, c: Int, data: Int) -> Int:
    """Every post of the record gets a slot, with a reference that `release_posts` takes back. The newest time."""
    newest, count = NO_TIME, word(c, of.POSTS)
    table, places = word(s, POST_TABLE_AT), word(s, POST_PLACES)
    for index in range(count):
        fetch(table + 4 * home(s, told_at(c, min(index + FETCH_AHEAD, count - 1))["number"], places))
        post = told_at(c, index)
        number, payload, size = post["number"], data + post["at"], post["size"]
        newest = max(newest, post["time_us"])
        slot = find_post(s, number, payload, size)
        if slot != NONE:
            post_at(s, slot)["entries"] += 1
        else:
            author, id_at = changed_at(c, post["author"])["row"], post["id_at"] - post["at"]
            slot = new_post(s, number, post["time_us"], author, payload, size, id_at, post["id_size"])
        post["slot"] = slot
    indexes = word(c, of.INDEXES_AT)
    for place in range(word(c, of.INDEXES)):
        put_half(indexes, place, told_at(c, half(indexes, place))["slot"])
    return newest


@jit
def sort_spreads(s: Int, c: Int) -> None:
    """The slots of every spread, oldest first."""
    scratch = np.empty(word(c, of.INDEXES), np.int32)
    for index in range(word(c, of.OPS)):
        operation = operation_at(c, index)
        if operation["op"] == of.SPREAD and operation["posts"] > 1:
            slots = word(c, of.INDEXES_AT) + 4 * operation["posts_at"]
            sort_slots(s, slots, operation["posts"], scratch.ctypes.data)


@jit
def release_posts(s: Int, c: Int) -> None:
    """Those that nobody took are forgotten."""
    for index in range(word(c, of.POSTS)):
        release_entry(s, told_at(c, index)["slot"])
