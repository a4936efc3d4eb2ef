"""The four steps of applying a record: unfollowed, withdrawn, followed, spread.

Authors are independent of each other, so each step is done for all authors of a record before the next.
Compiled. `follow` and `spread` stop where an arena is full, and return where to go on when it is larger: an operation
and a reader of it; DONE where there is nothing left.
"""

from __future__ import annotations

from penstock.timelines.store import changes as of
from penstock.timelines.store.admission import admit
from penstock.timelines.store.blocks import HEADS_AT, KINDS, SLABS, SLABS_USED, WORDS_AT
from penstock.timelines.store.changes import changed_at, operation_at
from penstock.timelines.store.compiled import jit
from penstock.timelines.store.followees import add_followee, remove_followee, room_for_followee
from penstock.timelines.store.inbox import raise_floor, remove, remove_author
from penstock.timelines.store.layout import NONE, STAMP, USER_BYTES, USERS_AT, Int, inboxes, post_at, user_at
from penstock.timelines.store.memory import FETCH_AHEAD, fetch, half
from penstock.timelines.store.resolve import DONE
from penstock.timelines.store.rows import release_entry, suspect
from penstock.timelines.store.tables import post_slots
from penstock.timelines.store.walk_lists import number_at
from penstock.wire.memory import word


@jit
def unfollow(s: Int, c: Int) -> None:
    for index in range(word(c, of.OPS)):
        operation = operation_at(c, index)
        if operation["op"] == of.UNFOLLOWED:
            author = changed_at(c, operation["author"])["row"]
            readers = word(c, of.READERS_AT) + 4 * operation["first"]
            for reader in range(operation["readers"]):
                row = half(readers, reader)
                if row != NONE:
                    unfollow_one(s, row, author)


@jit
def unfollow_one(s: Int, row: Int, author: Int) -> None:
    if remove_followee(s, row, author):
        user_at(s, row)["stamp"] = word(s, STAMP)
        suspect(s, row)
    remove_author(s, row, author)


@jit
def withdraw(s: Int, c: Int, data: Int) -> None:
    for index in range(word(c, of.OPS)):
        operation = operation_at(c, index)
        if operation["op"] == of.WITHDRAWN:
            for post in range(operation["posts"]):
                number = number_at(data, operation["posts_at"] + post * of.NUMBER_BYTES)
                for slot in post_slots(s, number):
                    withdraw_one(s, c, slot, operation["first"], operation["readers"])


@jit
def withdraw_one(s: Int, c: Int, slot: Int, first: Int, count: Int) -> None:
    post_at(s, slot)["entries"] += 1  # or else it might be gone before the last reader was looked at
    for reader in range(first, first + count):
        fetch_inbox(s, c, reader)
        row = half(word(c, of.READERS_AT), reader)
        if row != NONE:
            remove(s, row, slot)
    release_entry(s, slot)


@jit
def follow(s: Int, c: Int, start: Int, reader: Int) -> tuple[Int, Int]:
    for index in range(start, word(c, of.OPS)):
        operation = operation_at(c, index)
        if operation["op"] == of.FOLLOWED:
            author = changed_at(c, operation["author"])["row"]
            readers = word(c, of.READERS_AT) + 4 * operation["first"]
            for at in range(reader, operation["readers"]):
                row = half(readers, at)
                if not room_for_followee(s, row):
                    return index, at
                if add_followee(s, row, author):
                    user_at(s, row)["stamp"] = word(s, STAMP)
        reader = 0
    return DONE, 0


@jit
def spread(s: Int, c: Int, start: Int, reader: Int) -> tuple[Int, Int]:
    arena = inboxes(s)
    for index in range(start, word(c, of.OPS)):
        operation = operation_at(c, index)
        if operation["op"] == of.SPREAD and operation["posts"] > 0:
            slots, posts = word(c, of.INDEXES_AT) + 4 * operation["posts_at"], operation["posts"]
            readers = word(c, of.READERS_AT) + 4 * operation["first"]
            for at in range(reader, operation["readers"]):
                # An inbox may grow through all kinds of blocks.
                if word(word(arena, HEADS_AT), SLABS_USED) + word(arena, KINDS) > word(arena, SLABS):
                    return index, at
                fetch_inbox(s, c, operation["first"] + at)
                row = half(readers, at)
                admit(s, row, slots, posts)
                if operation["older_left_out"] != 0:
                    raise_floor(s, row, half(slots, 0))
        reader = 0
    return DONE, 0


@jit
def fetch_inbox(s: Int, c: Int, reader: Int) -> None:
    """Of a reader who comes soon."""
    readers, last = word(c, of.READERS_AT), word(c, of.READERS) - 1
    row = half(readers, min(reader + FETCH_AHEAD, last))
    if row != NONE:
        user = user_at(s, row)
        fetch(word(inboxes(s), WORDS_AT) + 4 * (user["block"] + user["count"]))
    fetch(word(s, USERS_AT) + USER_BYTES * half(readers, min(reader + 2 * FETCH_AHEAD, last)))
