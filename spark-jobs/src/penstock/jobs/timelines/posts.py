"""The posts of a shard: which live, in which order, and since which version; dead ones too, without their content.

In:  changes of posts in any order. Out: what each changed; an author's newest posts.
Guaranteed: a post is as its greatest version says. A post that was deleted stays known, so that a create that arrives
after its own delete does not come to life.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from typing import Final, NamedTuple

import numpy as np
from penstock.jobs.timelines.bundle import Bundle, split, texts
from penstock.jobs.timelines.places import Places

INBOX, OUTBOX, DEAD = 0, 1, 2  # how a post reached its readers


class PostChange(NamedTuple):
    """A change of one post; without a payload, its end. `key` is of the post, `number` of this version of it."""

    author: str
    id: str
    key: int
    number: int
    time_us: int
    position: bytes
    payload: bytes | None


class Turn(NamedTuple):
    """What a change changed: the row, the version that was shown before (and how), how the new one is shown."""

    row: int
    was: int
    old_number: int
    now: int


class Newest(NamedTuple):
    """Rows, newest first, and whether there are older ones."""

    rows: list[int]
    has_older: bool


_FIELDS: Final = (("time", "q"), ("place", "I"), ("tail", "Q"), ("author", "I"), ("number", "Q"), ("key", "Q"))


class Posts:
    def __init__(self, places: Places) -> None:
        self._places = places
        self._rows: dict[int, int] = {}  # by key
        self._columns = {name: array(code) for name, code in _FIELDS}
        self._mode = bytearray()
        self._ids: list[str] = []
        self._payloads: list[bytes | None] = []
        self._lists: dict[tuple[int, int], array[int]] = {}  # (author, mode): living rows, oldest first

    def __len__(self) -> int:
        return len(self._ids)

    def payload(self, row: int) -> bytes:
        payload = self._payloads[row]
        assert payload is not None, "asked of a post that is gone"
        return payload

    def number(self, row: int) -> int:
        return self._columns["number"][row]

    def is_news(self, change: PostChange) -> bool:
        """Whether its version is greater than what is known of the post."""
        row = self._rows.get(change.key)
        if row is None:
            return True
        time_us = self._columns["time"][row]
        return change.time_us > time_us or (change.time_us == time_us and change.position > self._position(row))

    def put(self, change: PostChange, author: int, mode: int) -> Turn:
        """Takes a change that is news; `mode` is how the post is shown from now on."""
        row = self._rows.get(change.key)
        if row is None:
            row = self._append(change, author)
            was, old_number = DEAD, 0
        else:
            was, old_number = self._mode[row], self.number(row)
            if was != DEAD:
                living = self._lists[author, was]
                del living[bisect_left(living, self._order(row), key=self._order)]
        place, tail = self._places.split(change.position)
        columns = self._columns
        columns["time"][row], columns["place"][row], columns["tail"][row] = change.time_us, place, tail
        columns["number"][row] = change.number
        self._payloads[row] = change.payload
        self._mode[row] = mode
        if mode != DEAD:
            insort(self._lists.setdefault((author, mode), array("I")), row, key=self._order)
        return Turn(row, was, old_number, mode)

    def newest(self, author: int, mode: int, count: int) -> Newest:
        living = self._lists.get((author, mode))
        if living is None:
            return Newest([], False)
        return Newest(living[: -count - 1 : -1].tolist(), len(living) > count)

    def older_than(self, time_us: int, position: bytes) -> list[PostChange]:
        """The ends of all posts with a lesser version: what a truncate does. Each keeps its version."""
        columns = self._columns
        older = [
            (row, self._position(row))
            for row, mode in enumerate(self._mode)
            if mode != DEAD and columns["time"][row] <= time_us
        ]
        return [
            PostChange("", self._ids[row], columns["key"][row], 0, columns["time"][row], own, None)
            for row, own in older
            if columns["time"][row] < time_us or own < position
        ]

    def author(self, key: int) -> int:
        """The author of a post that is known."""
        return self._columns["author"][self._rows[key]]

    def bundle(self) -> Bundle:
        ids, id_ends = texts([one.encode() for one in self._ids])
        payloads, payload_ends = texts([one or b"" for one in self._payloads])
        columns = {name: np.frombuffer(column, column.typecode) for name, column in self._columns.items() if column}
        return {
            **columns,
            "mode": np.frombuffer(bytes(self._mode), np.uint8),
            "ids": ids,
            "id_ends": id_ends,
            "payloads": payloads,
            "payload_ends": payload_ends,
        }

    @classmethod
    def of(cls, bundle: Bundle, places: Places) -> Posts:
        posts = cls(places)
        posts._mode = bytearray(bundle["mode"].tobytes())
        posts._ids = [one.decode() for one in split(bundle["ids"], bundle["id_ends"])]
        payloads = split(bundle["payloads"], bundle["payload_ends"])
        posts._payloads = [
            None if mode == DEAD else payload for mode, payload in zip(posts._mode, payloads, strict=True)
        ]
        for name, column in posts._columns.items():
            if name in bundle:
                column.frombytes(bundle[name].tobytes())
        posts._rows = {key: row for row, key in enumerate(posts._columns["key"])}
        for row in sorted((row for row, mode in enumerate(posts._mode) if mode != DEAD), key=posts._order):
            place = posts._columns["author"][row], posts._mode[row]
            posts._lists.setdefault(place, array("I")).append(row)
        return posts

    def _append(self, change: PostChange, author: int) -> int:
        row = self._rows[change.key] = len(self._ids)
        for name, value in (
            ("time", 0), ("place", 0), ("tail", 0), ("author", author), ("number", 0), ("key", change.key),
        ):  # fmt: skip
            self._columns[name].append(value)
        self._mode.append(DEAD)
        self._ids.append(change.id)
        self._payloads.append(None)
        return row

    def _order(self, row: int) -> tuple[int, str]:
        return self._columns["time"][row], self._ids[row]

    def _position(self, row: int) -> bytes:
        return self._places.joined(self._columns["place"][row], self._columns["tail"][row])
