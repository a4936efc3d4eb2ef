"""Forgets all that one shard of the join has said: it began anew and says everything again.

Compiled. One pass over everybody; rare, so nothing is kept to make it fast.
"""

from __future__ import annotations

from penstock.timelines.store.blocks import WORDS_AT
from penstock.timelines.store.compiled import jit
from penstock.timelines.store.followees import followees_at, shrink_followees
from penstock.timelines.store.inbox import note_removed, tidy
from penstock.timelines.store.layout import NONE, STAMP, USERS, WRITERS_AT, Int, author_at, inboxes, user_at
from penstock.timelines.store.memory import half, put_half
from penstock.timelines.store.rows import release_entry, set_floor, suspect
from penstock.wire.memory import word


@jit
def forget_shard(s: Int, shard: Int) -> None:
    for row in range(word(s, USERS)):
        user = user_at(s, row)
        forget_entries(s, row, shard)
        forget_followees(s, row, shard)
        if user["author"] != NONE and author_at(s, user["author"])["shard"] == shard and user["floor"] != NONE:
            set_floor(s, row, NONE)
            tidy(s, row)


@jit
def forget_entries(s: Int, row: Int, shard: Int) -> None:
    user, writers = user_at(s, row), word(s, WRITERS_AT)
    begin = word(inboxes(s), WORDS_AT) + 4 * user["block"]
    kept = 0
    for index in range(user["count"]):
        slot = half(begin, index)
        if author_at(s, half(writers, slot))["shard"] == shard:
            release_entry(s, slot)
        else:
            put_half(begin, kept, slot)
            kept += 1
    if kept < user["count"]:
        note_removed(s, row, user["count"] - kept)


@jit
def forget_followees(s: Int, row: Int, shard: Int) -> None:
    user, begin = user_at(s, row), followees_at(s, row)
    kept = 0
    for index in range(user["followees"]):
        author = half(begin, index)
        if author_at(s, author)["shard"] != shard:
            put_half(begin, kept, author)
            kept += 1
    if kept < user["followees"]:
        user["followees"] = kept
        user["stamp"] = word(s, STAMP)
        suspect(s, row)
        shrink_followees(s, row)
