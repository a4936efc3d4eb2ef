"""Finds users by number, posts by number and authors by name: hash tables of rows, NONE where there is none.

A table has at least twice as many places as there can be rows; who finds a place taken takes the next. Ids are chosen
by strangers: the salt, which they do not know, keeps them from choosing ids that collide. Should a post's bytes differ
from one delivery to the next, its number has several slots.
Compiled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.store.compiled import jit
from penstock.timelines.store.layout import (
    AUTHOR_PLACES,
    AUTHOR_TABLE_AT,
    AUTHORS,
    NONE,
    POOL_AT,
    POST_PLACES,
    POST_TABLE_AT,
    SALT,
    SLOTS_USED,
    USER_PLACES,
    USER_TABLE_AT,
    USERS,
    Bool,
    Int,
    author_at,
    post_at,
    user_at,
)
from penstock.timelines.store.memory import half, put_half
from penstock.timelines.store.walk_lists import number_at
from penstock.wire.memory import byte, word

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIXING = np.uint64(0x9FB21C651E98DF25)


@jit
def home(s: Int, number: Int, places: Int) -> Int:
    """Where to look first. The factor is odd, so that no two numbers have the same product."""
    factor = (np.uint64(word(s, SALT)) ^ _GOLDEN) | np.uint64(1)
    return np.int64((np.uint64(number) * factor) >> np.uint64(33)) & (places - 1)


@jit
def enter(table: Int, places: Int, place: Int, row: Int) -> None:
    """In the first free place from `place` on."""
    while half(table, place) != NONE:
        place = (place + 1) & (places - 1)
    put_half(table, place, row)


@jit
def find_user(s: Int, number: Int) -> Int:
    table, places = word(s, USER_TABLE_AT), word(s, USER_PLACES)
    place = home(s, number, places)
    while True:
        row = half(table, place)
        if row == NONE or user_at(s, row)["number"] == np.uint64(number):
            return row
        place = (place + 1) & (places - 1)


@jit
def enter_user(s: Int, row: Int) -> None:
    places = word(s, USER_PLACES)
    enter(word(s, USER_TABLE_AT), places, home(s, np.int64(user_at(s, row)["number"]), places), row)


@jit
def enter_users(s: Int) -> None:
    """All of them, into an empty table."""
    for row in range(word(s, USERS)):
        enter_user(s, row)


@jit
def name_hash(s: Int, name: Int, size: Int) -> Int:
    """Eight bytes at a time."""
    value = (np.uint64(word(s, SALT)) ^ _GOLDEN) + np.uint64(size)
    for at in range(0, size, 8):
        some = 0
        if at + 8 <= size:
            some = number_at(name, at)
        else:
            for index in range(at, size):
                some = some << 8 | byte(name, index)
        value = (value ^ np.uint64(some)) * _MIXING
        value ^= value >> np.uint64(29)
    return np.int64(value)


@jit
def same_bytes(left: Int, right: Int, size: Int) -> Bool:
    """At two addresses."""
    different = 0
    for index in range(size):
        different |= byte(left, index) ^ byte(right, index)
    return different == 0


@jit
def find_author(s: Int, hashed: Int, name: Int, size: Int) -> Int:
    table, places, pool = word(s, AUTHOR_TABLE_AT), word(s, AUTHOR_PLACES), word(s, POOL_AT)
    place = home(s, hashed, places)
    while True:
        row = half(table, place)
        if row == NONE:
            return row
        author = author_at(s, row)
        if author["hash"] == hashed and author["size"] == size and same_bytes(pool + author["at"], name, size):
            return row
        place = (place + 1) & (places - 1)


@jit
def enter_author(s: Int, row: Int) -> None:
    places = word(s, AUTHOR_PLACES)
    enter(word(s, AUTHOR_TABLE_AT), places, home(s, author_at(s, row)["hash"], places), row)


@jit
def enter_authors(s: Int) -> None:
    """Hashed anew: the salt may be another one."""
    for row in range(word(s, AUTHORS)):
        author = author_at(s, row)
        author["hash"] = name_hash(s, word(s, POOL_AT) + author["at"], np.int64(author["size"]))
        enter_author(s, row)


@jit
def find_post(s: Int, number: Int, payload: Int, size: Int) -> Int:
    """The slot of exactly these bytes."""
    table, places, pool = word(s, POST_TABLE_AT), word(s, POST_PLACES), word(s, POOL_AT)
    place = home(s, number, places)
    while True:
        slot = half(table, place)
        if slot == NONE:
            return slot
        post = post_at(s, slot)
        if (
            post["number"] == np.uint64(number)
            and post["size"] == size
            and same_bytes(pool + post["at"], payload, size)
        ):
            return slot
        place = (place + 1) & (places - 1)


@jit
def post_slots(s: Int, number: Int) -> NDArray[np.int64]:
    """All slots of a post that inboxes have; nearly always none or one."""
    table, places = word(s, POST_TABLE_AT), word(s, POST_PLACES)
    found = np.empty(4, np.int64)
    count = 0
    place = home(s, number, places)
    while half(table, place) != NONE:
        if post_at(s, half(table, place))["number"] == np.uint64(number):
            if count == found.size:
                found = np.concatenate((found, found))
            found[count] = half(table, place)
            count += 1
        place = (place + 1) & (places - 1)
    return found[:count]


@jit
def enter_post(s: Int, slot: Int) -> None:
    places = word(s, POST_PLACES)
    enter(word(s, POST_TABLE_AT), places, home(s, np.int64(post_at(s, slot)["number"]), places), slot)


@jit
def enter_posts(s: Int) -> None:
    for slot in range(word(s, SLOTS_USED)):
        if post_at(s, slot)["entries"] > 0:
            enter_post(s, slot)


@jit
def strike_post(s: Int, slot: Int) -> None:
    """Takes the slot out, and moves others up so that no search ends too early."""
    table, places = word(s, POST_TABLE_AT), word(s, POST_PLACES)
    last = places - 1
    hole = home(s, np.int64(post_at(s, slot)["number"]), places)
    while half(table, hole) != slot:
        hole = (hole + 1) & last
    place = hole
    while True:
        place = (place + 1) & last
        other = half(table, place)
        if other == NONE:
            break
        wanted = home(s, np.int64(post_at(s, other)["number"]), places)
        if (place - wanted) & last >= (place - hole) & last:
            put_half(table, hole, other)
            hole = place
    put_half(table, hole, NONE)
