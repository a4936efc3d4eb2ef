"""Forgets all that one shard of the join has said: it began anew and says everything again.

Compiled. One pass over everybody; rare, so nothing is kept to make it fast.
"""

from __future__ import annotations

import numpy as np
from penstock.timelines.store.followees import shrink_followees
from penstock.timelines.store.inbox import note_removed, tidy
from penstock.timelines.store.layout import NONE, STAMP, USERS, Int, State
from penstock.timelines.store.rows import release_entry, set_floor, suspect
from penstock.wire.fields import jit


@jit
def forget_shard(s: State, shard: Int) -> None:
    for row in range(s.counts[USERS]):
        user = s.users[row]
        forget_entries(s, row, shard)
        forget_followees(s, row, shard)
        if user["author"] != NONE and s.authors[user["author"]]["shard"] == shard and user["floor"] != NONE:
            set_floor(s, row, NONE)
            tidy(s, row)


@jit
def forget_entries(s: State, row: Int, shard: Int) -> None:
    user = s.users[row]
    words, block = s.inboxes.words, user["block"]
    kept = 0
    for index in range(user["count"]):
        slot = np.int64(words[block + index])
        if s.authors[s.post_authors[slot]]["shard"] == shard:
            release_entry(s, slot)
        else:
            words[block + kept] = slot
            kept += 1
    if kept < user["count"]:
        note_removed(s, row, user["count"] - kept)


@jit
def forget_followees(s: State, row: Int, shard: Int) -> None:
    user = s.users[row]
    words, block = s.followees.words, user["followees_block"]
    kept = 0
    for index in range(user["followees"]):
        author = words[block + index]
        if s.authors[author]["shard"] != shard:
            words[block + kept] = author
            kept += 1
    if kept < user["followees"]:
        user["followees"] = kept
        user["stamp"] = s.counts[STAMP]
        suspect(s, row)
        shrink_followees(s, row)
