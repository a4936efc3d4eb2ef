"""Compiled: sorted lists of follow edges, one per author, side by side in one arena of columns.

An author's edges lie in [start, start + size) of every column, ascending by follower; `room` is how many fit before the
list must move to the arena's end. Lists only grow (an ended follow stays, to tell that it ended and when).
Whoever calls these has made sure that the arena is large enough.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from penstock.wire.fields import jit

U64: TypeAlias = NDArray[np.uint64]
I64: TypeAlias = NDArray[np.int64]
U32: TypeAlias = NDArray[np.uint32]
U8: TypeAlias = NDArray[np.uint8]
ENDED, FOLLOWS, BEGAN = 0, 1, 2  # BEGAN: follows, since the batch under way


@jit
def first_at_least(follower: U64, begin: int, end: int, number: np.uint64) -> int:
    while begin < end:
        middle = (begin + end) >> 1
        if follower[middle] < number:
            begin = middle + 1
        else:
            end = middle
    return begin


@jit
def locate(start: I64, size: I64, follower: U64, authors: I64, numbers: U64, found: I64) -> None:
    """Where each (author, follower) lies in the arena; -1: nowhere."""
    for index in range(authors.shape[0]):
        author = authors[index]
        end = start[author] + size[author]
        at = first_at_least(follower, start[author], end, numbers[index])
        found[index] = at if at < end and follower[at] == numbers[index] else -1


@jit
def insert(
    author: int, start: I64, size: I64, follower: U64, time: I64, place: U32, tail: U64, state: U8,
    numbers: U64, times: I64, places: U32, tails: U64, states: U8,
) -> None:  # fmt: skip
    """Merges new edges, ascending and not among those that are there, into an author's list, from its end."""
    old, new = start[author] + size[author] - 1, numbers.shape[0] - 1
    at = old + new + 1
    while new >= 0:
        if old >= start[author] and follower[old] > numbers[new]:
            follower[at], time[at], place[at] = follower[old], time[old], place[old]
            tail[at], state[at] = tail[old], state[old]
            old -= 1
        else:
            follower[at], time[at], place[at] = numbers[new], times[new], places[new]
            tail[at], state[at] = tails[new], states[new]
            new -= 1
        at -= 1
    size[author] += numbers.shape[0]


@jit
def insert_all(
    start: I64, size: I64, follower: U64, time: I64, place: U32, tail: U64, state: U8,
    authors: I64, numbers: U64, times: I64, places: U32, tails: U64, states: U8,
) -> None:  # fmt: skip
    """Merges new edges of many authors, ascending by (author, follower)."""
    begin = 0
    while begin < authors.shape[0]:
        end = begin
        while end < authors.shape[0] and authors[end] == authors[begin]:
            end += 1
        insert(
            authors[begin], start, size, follower, time, place, tail, state,
            numbers[begin:end], times[begin:end], places[begin:end], tails[begin:end], states[begin:end],
        )  # fmt: skip
        begin = end


@jit
def settle(state: U8, at: I64) -> None:
    """What began in this batch is nothing new any more."""
    for index in at:
        if state[index] == BEGAN:
            state[index] = FOLLOWS


@jit
def in_state(start: int, size: int, follower: U64, state: U8, wanted: int, into: U64) -> int:
    """Copies the followers of one list that are in a state; how many those are."""
    count = 0
    for at in range(start, start + size):
        if state[at] == wanted:
            into[count] = follower[at]
            count += 1
    return count


@jit
def counted(start: I64, size: I64, state: U8, living: I64) -> None:
    """How many follow each author."""
    for author in range(start.shape[0]):
        count = 0
        for at in range(start[author], start[author] + size[author]):
            count += state[at] != ENDED
        living[author] = count
