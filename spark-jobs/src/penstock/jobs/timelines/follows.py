"""The follow edges of a shard: who follows whom, and since which version.

In:  changes of edges in any order. Out: which of them began or ended a follow; an author's followers, ascending.
Guaranteed: an edge is as its greatest version says; what was applied, and not in which order, decides every byte.
Ended edges stay, so that a follow that arrives after its own end does not come to life.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from penstock.delivery.numbers import Numbers
from penstock.jobs.timelines import sorted_lists as lists
from penstock.jobs.timelines.bundle import Bundle
from penstock.jobs.timelines.places import Places

Mask = NDArray[np.bool_]
_COLUMNS = (
    ("follower", np.uint64),
    ("time", np.int64),
    ("place", np.uint32),
    ("tail", np.uint64),
    ("state", np.uint8),
)
_ROOM_MIN = 4


class EdgeChanges(NamedTuple):
    """Changes of different edges, ascending by (author, follower), each the greatest of its edge in the batch."""

    author: NDArray[np.int64]
    follower: Numbers
    time: NDArray[np.int64]
    place: NDArray[np.uint32]
    tail: Numbers
    follows: NDArray[np.uint8]


class Turned(NamedTuple):
    """Which of the changes began a follow, and which ended one."""

    began: Mask
    ended: Mask


class Follows:
    def __init__(self, places: Places) -> None:
        self._places = places
        self._columns: dict[str, NDArray[Any]] = {name: np.empty(0, kind) for name, kind in _COLUMNS}
        self._used = 0
        self._start = np.empty(0, np.int64)
        self._size = np.empty(0, np.int64)
        self._room = np.empty(0, np.int64)
        self._living = np.empty(0, np.int64)
        self._fresh = np.empty(0, np.int64)

    def followers(self, author: int) -> int:
        """How many there are."""
        return int(self._living[author]) if author < len(self._living) else 0

    def edges(self) -> int:
        """How many are kept, ended ones included."""
        return int(self._size.sum())

    def steady(self, author: int) -> Numbers:
        """Those who followed before this batch and still do, ascending."""
        if author >= len(self._start):
            return np.empty(0, np.uint64)
        size = int(self._size[author])
        into = np.empty(size, np.uint64)
        columns = self._columns
        count = lists.in_state(
            int(self._start[author]), size, columns["follower"], columns["state"], lists.FOLLOWS, into
        )
        return into[:count]

    def are_followers(self, author: int, numbers: Numbers) -> Mask:
        """Which of these follow an author now."""
        authors = np.full(len(numbers), author, np.int64)
        found = self._locate(authors, numbers)
        followers: Mask = (found >= 0) & (self._at("state", found) != lists.ENDED)
        return followers

    def apply(self, changes: EdgeChanges) -> Turned:
        """Until `settle`, what began is told apart from what was."""
        self._know_authors(int(changes.author.max(initial=-1)) + 1)
        found = self._locate(changes.author, changes.follower)
        known = found >= 0
        stored = self._at("time", found)
        wins = ~known | (changes.time > stored)
        for index in np.flatnonzero(known & (changes.time == stored)):
            wins[index] = self._is_later(changes, int(index), int(found[index]))
        followed = known & (self._at("state", found) != lists.ENDED)
        follows = changes.follows != 0
        began, ended = wins & follows & ~followed, wins & ~follows & followed
        state = np.where(follows, np.where(began, lists.BEGAN, lists.FOLLOWS), lists.ENDED).astype(np.uint8)
        self._update(changes, state, found, wins & known)
        self._insert(changes, state, ~known)
        np.add.at(self._living, changes.author[began], 1)
        np.subtract.at(self._living, changes.author[ended], 1)
        self._fresh = self._locate(changes.author[began], changes.follower[began])
        return Turned(began, ended)

    def settle(self) -> None:
        """The batch is over."""
        lists.settle(self._columns["state"], self._fresh)
        self._fresh = np.empty(0, np.int64)

    def older_than(self, time_us: int, position: bytes) -> list[tuple[int, int, int, bytes]]:
        """(author, follower, time, position) of every follow with a lesser version: what a truncate ends."""
        ended: list[tuple[int, int, int, bytes]] = []
        columns = self._columns
        for author in np.flatnonzero(self._living):
            begin = int(self._start[author])
            span = slice(begin, begin + int(self._size[author]))
            older = begin + np.flatnonzero((columns["state"][span] != 0) & (columns["time"][span] <= time_us))
            ended += [
                (int(author), int(columns["follower"][at]), int(columns["time"][at]), self._position(at))
                for at in older.tolist()
                if columns["time"][at] < time_us or self._position(at) < position
            ]
        return ended

    def bundle(self) -> Bundle:
        """Lists without the room between them."""
        ends = np.cumsum(self._size)
        rows = np.arange(self.edges()) + np.repeat(self._start - (ends - self._size), self._size)
        return {"size": self._size, **{name: column[rows] for name, column in self._columns.items()}}

    @classmethod
    def of(cls, bundle: Bundle, places: Places) -> Follows:
        follows = cls(places)
        size = bundle["size"].astype(np.int64)
        follows._columns = {name: bundle[name].astype(kind) for name, kind in _COLUMNS}
        follows._used = int(size.sum())
        follows._size, follows._room = size, size.copy()
        follows._start = np.concatenate([[0], np.cumsum(size)[:-1]]).astype(np.int64) if len(size) else size.copy()
        follows._living = np.zeros(len(size), np.int64)
        lists.counted(follows._start, size, follows._columns["state"], follows._living)
        return follows

    def _locate(self, authors: NDArray[np.int64], numbers: Numbers) -> NDArray[np.int64]:
        found = np.empty(len(authors), np.int64)
        lists.locate(self._start, self._size, self._columns["follower"], authors, numbers, found)
        return found

    def _at(self, column: str, found: NDArray[np.int64]) -> NDArray[np.int64]:
        """The column where an edge was found; anything elsewhere."""
        if not self._used:
            return np.zeros(len(found), np.int64)
        return self._columns[column][np.maximum(found, 0)].astype(np.int64)

    def _is_later(self, changes: EdgeChanges, index: int, at: int) -> bool:
        """An end of a version that is known is a truncate's: see older_than."""
        position, known = self._places.joined(int(changes.place[index]), int(changes.tail[index])), self._position(at)
        return position > known or (position == known and not changes.follows[index])

    def _position(self, at: int) -> bytes:
        return self._places.joined(int(self._columns["place"][at]), int(self._columns["tail"][at]))

    def _update(self, changes: EdgeChanges, state: NDArray[np.uint8], found: NDArray[np.int64], which: Mask) -> None:
        at = found[which]
        for name, values in (
            ("time", changes.time), ("place", changes.place), ("tail", changes.tail), ("state", state),
        ):  # fmt: skip
            self._columns[name][at] = values[which]

    def _insert(self, changes: EdgeChanges, state: NDArray[np.uint8], which: Mask) -> None:
        authors = changes.author[which]
        if not len(authors):
            return
        self._make_room(*np.unique(authors, return_counts=True))
        to = self._columns
        lists.insert_all(
            self._start, self._size, to["follower"], to["time"], to["place"], to["tail"], to["state"],
            authors, changes.follower[which], changes.time[which], changes.place[which], changes.tail[which],
            state[which],
        )  # fmt: skip

    def _make_room(self, authors: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Moves lists that would outgrow their room to the arena's end, with room for as much again."""
        needed = self._size[authors] + counts
        moving = needed > self._room[authors]
        movers, rooms = authors[moving], np.maximum(2 * needed[moving], _ROOM_MIN)
        total = int(rooms.sum())
        if self._used + total > len(self._columns["time"]):
            grown = max(2 * len(self._columns["time"]), self._used + total)
            for name, column in self._columns.items():
                self._columns[name] = np.empty(grown, column.dtype)
                self._columns[name][: self._used] = column[: self._used]
        for author, room in zip(movers.tolist(), rooms.tolist(), strict=True):
            begin, size = int(self._start[author]), int(self._size[author])
            for column in self._columns.values():
                column[self._used : self._used + size] = column[begin : begin + size]
            self._start[author], self._room[author] = self._used, room
            self._used += room

    def _know_authors(self, count: int) -> None:
        missing = count - len(self._start)
        if missing > 0:
            none = np.zeros(missing, np.int64)
            self._start = np.concatenate([self._start, none])
            self._size = np.concatenate([self._size, none])
            self._room = np.concatenate([self._room, none])
            self._living = np.concatenate([self._living, none])
