"""After a record: which inboxes became too short, so that older posts must come again.

An inbox that has a floor and fewer entries than its capacity lacks posts that were dropped earlier. It is refilled:
from now on posts of any age are taken, as if it had no floor; what is dropped or left out meanwhile raises the floor again.
Compiled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.store.inbox import tidy
from penstock.timelines.store.layout import CAPACITY, NONE, STAMP, SUSPECTS, Int, State
from penstock.timelines.store.rows import set_floor, suspect
from penstock.wire.fields import jit


@jit
def settle(s: State) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Rows whose refill begins, and rows whose refill is at its end because nobody is followed any more."""
    count = s.counts[SUSPECTS]
    begun, ended = np.empty(count, np.int32), np.empty(count, np.int32)
    begins = ends = 0
    for index in range(count):
        row = np.int64(s.suspects[index])
        user = s.users[row]
        user["suspect"] = 0
        if user["author"] == NONE and user["followees"] == 0:
            lift_floor(s, row)
            if user["refilling"] != 0:
                user["refilling"] = 0
                ended[ends] = row
                ends += 1
        elif user["refilling"] == 0 and user["floor"] != NONE and user["count"] < s.counts[CAPACITY]:
            lift_floor(s, row)
            user["refilling"] = 1
            begun[begins] = row
            begins += 1
    s.counts[SUSPECTS] = 0
    return begun[:begins], ended[:ends]


@jit
def lift_floor(s: State, row: Int) -> None:
    set_floor(s, row, NONE)
    tidy(s, row)


@jit
def refilled(s: State, row: Int) -> None:
    """All that was asked for has come. Whether it was enough is seen when the record is settled."""
    user = s.users[row]
    user["refilling"] = 0
    user["stamp"] = s.counts[STAMP]
    suspect(s, row)
