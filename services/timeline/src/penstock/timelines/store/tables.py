"""Finds users by number, posts by number and authors by name: hash tables whose entries are rows, NONE if there is none.

A table is at least twice as large as its rows can be many; collisions are at the next place. Ids are chosen by
strangers: the salt, which they do not know, keeps them from choosing ids that collide. Should a post's bytes ever differ
from one delivery to the next, its number has several slots.
Compiled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.store.layout import AUTHORS, NONE, SALT, SLOTS_USED, USERS, Bool, Int, State
from penstock.wire.fields import jit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@jit
def home(s: State, number: Int, places: Int) -> Int:
    """Where to look first. The multiplier is odd, so that no two numbers have the same product."""
    factor = (np.uint64(s.counts[SALT]) ^ _GOLDEN) | np.uint64(1)
    return np.int64((np.uint64(number) * factor) >> np.uint64(33)) & (places - 1)


@jit
def enter(table: NDArray[np.int32], at: Int, row: Int) -> None:
    """In the first free place from `at` on."""
    while table[at] != NONE:
        at = (at + 1) & (table.size - 1)
    table[at] = row


@jit
def find_user(s: State, number: Int) -> Int:
    table = s.user_table
    at = home(s, number, table.size)
    while True:
        row = np.int64(table[at])
        if row == NONE or s.users[row]["number"] == number:
            return row
        at = (at + 1) & (table.size - 1)


@jit
def enter_users(s: State) -> None:
    """All of them, into an empty table."""
    for row in range(s.counts[USERS]):
        enter(s.user_table, home(s, s.users[row]["number"], s.user_table.size), row)


@jit
def name_hash(s: State, data: NDArray[np.uint8], at: Int, size: Int) -> Int:
    value = (np.uint64(s.counts[SALT]) ^ _GOLDEN) + np.uint64(size)
    for index in range(size):
        value = (value ^ np.uint64(data[at + index])) * np.uint64(0x9FB21C651E98DF25)
        value ^= value >> np.uint64(29)
    return value


@jit
def same_bytes(left: NDArray[np.uint8], at: Int, right: NDArray[np.uint8], to: Int, size: Int) -> Bool:
    different = np.uint8(0)
    for index in range(size):
        different |= left[at + index] ^ right[to + index]
    return different == 0


@jit
def find_author(s: State, hashed: Int, data: NDArray[np.uint8], at: Int, size: Int) -> Int:
    table = s.author_table
    place = home(s, hashed, table.size)
    while True:
        row = np.int64(table[place])
        if row == NONE:
            return row
        author = s.authors[row]
        if author["hash"] == hashed and author["size"] == size and same_bytes(s.pool, author["at"], data, at, size):
            return row
        place = (place + 1) & (table.size - 1)


@jit
def enter_authors(s: State) -> None:
    for row in range(s.counts[AUTHORS]):
        author = s.authors[row]
        author["hash"] = name_hash(s, s.pool, author["at"], author["size"])
        enter(s.author_table, home(s, author["hash"], s.author_table.size), row)


@jit
def find_post(s: State, number: Int, data: NDArray[np.uint8], at: Int, size: Int) -> Int:
    """The slot of exactly this version."""
    table = s.post_table
    place = home(s, number, table.size)
    while True:
        slot = np.int64(table[place])
        if slot == NONE:
            return slot
        post = s.posts[slot]
        if post["number"] == number and post["size"] == size and same_bytes(s.pool, post["at"], data, at, size):
            return slot
        place = (place + 1) & (table.size - 1)


@jit
def versions(s: State, number: Int) -> NDArray[np.int32]:
    """The slots of all versions that inboxes have."""
    table = s.post_table
    first = home(s, number, table.size)
    count = 0
    place = first
    while table[place] != NONE:
        count += s.posts[table[place]]["number"] == number
        place = (place + 1) & (table.size - 1)
    found = np.empty(count, np.int32)
    place = first
    while table[place] != NONE:
        if s.posts[table[place]]["number"] == number:
            count -= 1
            found[count] = table[place]
        place = (place + 1) & (table.size - 1)
    return found


@jit
def enter_posts(s: State) -> None:
    for slot in range(s.counts[SLOTS_USED]):
        if s.posts[slot]["entries"] > 0:
            enter(s.post_table, home(s, s.posts[slot]["number"], s.post_table.size), slot)


@jit
def strike_post(s: State, slot: Int) -> None:
    """Takes the slot out, and moves others up so that no search ends too early."""
    table = s.post_table
    last = table.size - 1
    hole = home(s, s.posts[slot]["number"], table.size)
    while table[hole] != slot:
        hole = (hole + 1) & last
    place = hole
    while True:
        place = (place + 1) & last
        other = table[place]
        if other == NONE:
            break
        wanted = home(s, s.posts[other]["number"], table.size)
        if (place - wanted) & last >= (place - hole) & last:
            table[hole] = other
            hole = place
    table[hole] = NONE
