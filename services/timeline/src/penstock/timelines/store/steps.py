"""The four steps of applying a record: unfollowed, withdrawn, followed, spread.

Authors are independent of each other, so each step is done for all authors of a record before the next.
Compiled. `follow` and `spread` stop where an arena is full, and return where to go on when it is larger: an operation
and a reader of it; DONE where there is nothing left.
"""

from __future__ import annotations

import numpy as np
from penstock.timelines.store import changes as of
from penstock.timelines.store.blocks import SLABS_USED
from penstock.timelines.store.changes import Changes
from penstock.timelines.store.followees import add_followee, remove_followee, room_for_followee
from penstock.timelines.store.inbox import insert, raise_floor, remove, remove_author
from penstock.timelines.store.layout import ADDED, ENTRIES, NONE, STAMP, Int, State
from penstock.timelines.store.resolve import DONE
from penstock.timelines.store.rows import release_entry, suspect
from penstock.timelines.store.tables import versions
from penstock.timelines.store.walk import number_at
from penstock.wire.fields import jit


@jit
def unfollow(s: State, c: Changes) -> None:
    for index in range(c.head[of.OPS]):
        op = c.ops[index]
        if op[of.OP] != of.UNFOLLOWED:
            continue
        author = c.authors[op[of.OP_AUTHOR], of.ROW]
        for at in range(op[of.FIRST], op[of.FIRST] + op[of.READER_COUNT]):
            row = np.int64(c.readers[at])
            if row != NONE:
                unfollow_one(s, row, author)


@jit
def unfollow_one(s: State, row: Int, author: Int) -> None:
    if remove_followee(s, row, author):
        s.users[row]["stamp"] = s.counts[STAMP]
        suspect(s, row)
    remove_author(s, row, author)


@jit
def withdraw(s: State, c: Changes, data: Int) -> None:
    for index in range(c.head[of.OPS]):
        op = c.ops[index]
        if op[of.OP] != of.WITHDRAWN:
            continue
        for post in range(op[of.POST_COUNT]):
            slots = versions(s, np.uint64(number_at(data, op[of.POSTS_AT] + post * of.NUMBER_BYTES)))
            for slot in slots:
                s.posts[slot]["entries"] += 1  # or else it might be gone before the last reader was looked at
            for at in range(op[of.FIRST], op[of.FIRST] + op[of.READER_COUNT]):
                row = np.int64(c.readers[at])
                if row != NONE:
                    for slot in slots:
                        remove(s, row, np.int64(slot))
            for slot in slots:
                release_entry(s, np.int64(slot))


@jit
def follow(s: State, c: Changes, start: Int, reader: Int) -> tuple[Int, Int]:
    for index in range(start, c.head[of.OPS]):
        op = c.ops[index]
        if op[of.OP] == of.FOLLOWED:
            author = c.authors[op[of.OP_AUTHOR], of.ROW]
            for at in range(reader, op[of.READER_COUNT]):
                row = np.int64(c.readers[op[of.FIRST] + at])
                if not room_for_followee(s, row):
                    return index, at
                if add_followee(s, row, author):
                    s.users[row]["stamp"] = s.counts[STAMP]
        reader = 0
    return DONE, 0


@jit
def spread(s: State, c: Changes, start: Int, reader: Int) -> tuple[Int, Int]:
    inboxes = s.inboxes
    for index in range(start, c.head[of.OPS]):
        op = c.ops[index]
        if op[of.OP] == of.SPREAD and op[of.POST_COUNT] > 0:
            begin, end = op[of.POSTS_AT], op[of.POSTS_AT] + op[of.POST_COUNT]
            for at in range(reader, op[of.READER_COUNT]):
                # An inbox may grow through all kinds of blocks.
                if inboxes.heads[SLABS_USED] + inboxes.sizes.size > inboxes.links.size:
                    return index, at
                row = np.int64(c.readers[op[of.FIRST] + at])
                spread_to(s, c, row, begin, end)
                if op[of.OLDER_LEFT_OUT] != 0:
                    raise_floor(s, row, np.int64(c.indexes[begin]))
        reader = 0
    return DONE, 0


@jit
def spread_to(s: State, c: Changes, row: Int, begin: Int, end: Int) -> None:
    """Posts, oldest first, into one inbox."""
    user = s.users[row]
    for index in range(begin, end):
        slot = np.int64(c.indexes[index])
        time_us = s.posts[slot]["time_us"]
        count = user["count"]
        if time_us > user["newest_us"] and count < user["room"]:
            s.inboxes.words[user["block"] + count] = slot
            user["count"] = count + 1
            user["newest_us"] = time_us
            user["stamp"] = s.counts[STAMP]
            s.posts[slot]["entries"] += 1
            s.counts[ADDED] += 1
            s.counts[ENTRIES] += 1
        else:
            insert(s, row, slot)
