"""After a record: which inboxes became too short, so that older posts must come again.

An inbox that has a floor and fewer entries than its capacity lacks posts that were dropped earlier. It is refilled:
posts of any age are taken from now on, as if it had no floor; what is dropped or left out meanwhile is its next floor.
Compiled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.store.compiled import jit
from penstock.timelines.store.inbox import tidy
from penstock.timelines.store.layout import CAPACITY, NONE, STAMP, SUSPECTS, SUSPECTS_AT, Int, user_at
from penstock.timelines.store.memory import half
from penstock.timelines.store.rows import set_floor, suspect
from penstock.wire.memory import put, word


@jit
def settle(s: Int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows whose refill begins, and rows whose refill is at its end because nobody is followed any more."""
    count, suspects = word(s, SUSPECTS), word(s, SUSPECTS_AT)
    begun, ended = np.empty(count, np.int64), np.empty(count, np.int64)
    begins = ends = 0
    for index in range(count):
        row = half(suspects, index)
        user = user_at(s, row)
        user["suspect"] = 0
        if user["author"] == NONE and user["followees"] == 0:
            lift_floor(s, row)
            if user["refilling"] != 0:
                user["refilling"] = 0
                ended[ends] = row
                ends += 1
        elif user["refilling"] == 0 and user["floor"] != NONE and user["count"] < word(s, CAPACITY):
            lift_floor(s, row)
            user["refilling"] = 1
            begun[begins] = row
            begins += 1
    put(s, SUSPECTS, 0)
    return begun[:begins], ended[:ends]


@jit
def lift_floor(s: Int, row: Int) -> None:
    set_floor(s, row, NONE)
    tidy(s, row)


@jit
def refilled(s: Int, row: Int) -> None:
    """All that was asked for has come. Whether it was enough is seen when the record is settled."""
    user = user_at(s, row)
    user["refilling"] = 0
    user["stamp"] = word(s, STAMP)
    suspect(s, row)
