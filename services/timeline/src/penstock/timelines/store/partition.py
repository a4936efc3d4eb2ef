"""One partition of users: everybody's inbox, changed by deliveries and read by slots.

In:  records of timeline.deliveries.v1, each once and in order. Out: timelines, and refills to be asked for.
Guaranteed: `view` is the newest posts, by (time, id, author), of the authors that the user follows, as far as the
records applied say, unless the user `is_refilling`: then older ones may be missing. A record that was applied before
changes nothing.
Pure. One thread writes; who reads on another holds a lock that the caller owns. A slot means something until the next
record is applied.
"""

from __future__ import annotations

from collections import Counter
from typing import cast

import numpy as np
from penstock.timelines.store import layout as at
from penstock.timelines.store.applying import Applying
from penstock.timelines.store.columns import Columns
from penstock.timelines.store.digest import partition_hash
from penstock.timelines.store.gaps import Gaps
from penstock.timelines.store.image import check, image_of, restored_columns, restored_gaps, restored_shards
from penstock.timelines.store.layout import NONE
from penstock.timelines.store.reading import changed, read, reader_row, refilling
from penstock.timelines.store.values import Applied, Image, OutOfOrderError, Page, Place, Refill, Shape, Slots, signed


class Partition:
    """`salt`: any number that strangers do not know; see tables.py."""

    def __init__(self, number: int, shape: Shape, salt: int = 0) -> None:
        if not 0 <= number < shape.partitions:
            raise ValueError(f"partition {number}: there are {shape.partitions}, from 0 on")
        self.number = number
        self.next_offset = 0  # of timeline.deliveries.v1
        self._shape = shape
        self._begin(Columns(number, shape, salt))

    def _begin(self, columns: Columns) -> None:
        self._columns = columns
        self._gaps = Gaps(self.number, columns)
        self._applying = Applying(self.number, self._shape, columns, self._gaps)
        self._watched: Counter[int] = Counter()
        self._seen_stamp = columns.count(at.STAMP)

    def apply(self, record: bytes, offset: int) -> Applied:
        """Do what a record says. OutOfOrderError if it is not its turn, ValueError if it is no record for us."""
        if offset < self.next_offset:
            raise OutOfOrderError(
                f"partition {self.number}: offset {offset} came again, {self.next_offset} is the next to apply"
            )
        applied = self._applying.apply(record, offset)
        self.next_offset = offset + 1
        return applied

    def view(self, user: int) -> Slots:
        """All that the user sees, newest first."""
        return self.page(user, None, newer=False, limit=self._shape.capacity).slots

    def page(self, user: int, place: Place | None, *, newer: bool, limit: int) -> Page:
        """What the user sees beyond a place, the posts next to it; without one, at the newest end (or the oldest)."""
        slots = np.empty(max(min(limit, self._shape.capacity), 0), np.uint32)
        time_us, text, id_size = 0, b"", 0
        if place is not None:
            time_us, post_id = place.time_us, place.post_id.encode()
            text, id_size = post_id + place.author.encode(), len(post_id)
        held = np.frombuffer(text, np.uint8)
        count, more = read(
            self._columns.s,
            signed(user),
            place is not None,
            time_us,
            held.ctypes.data,
            id_size,
            len(text),
            newer,
            slots.ctypes.data,
            slots.size,
        )
        return Page(slots[:count], more)

    def place(self, slot: int) -> Place:
        return self._columns.contents.place(slot)

    def payload(self, slot: int) -> bytes:
        """The serialized Post, as it came."""
        return self._columns.contents.payload(slot)

    def post_number(self, slot: int) -> int:
        return self._columns.contents.number(slot)

    def is_refilling(self, user: int) -> bool:
        """Whether older posts may be missing: from the inbox, or from an outbox that is merged with it."""
        return bool(refilling(self._columns.s, signed(user)))

    def floor(self, user: int) -> Place | None:
        """Posts of the inbox that are not older are all there; None: all are, whatever their age."""
        row = reader_row(self._columns.s, signed(user))
        floor = NONE if row == NONE else int(self._columns.users[row]["floor"])
        return None if floor == NONE else self.place(floor)

    def watch(self, user: int) -> None:
        self._watched[user] += 1

    def unwatch(self, user: int) -> None:
        self._watched[user] -= 1
        if self._watched[user] <= 0:
            del self._watched[user]

    def changed(self) -> list[int]:
        """Watched users whose view may have changed since the last call."""
        since, self._seen_stamp = self._seen_stamp, self._columns.count(at.STAMP)
        if since == self._seen_stamp or not self._watched:
            return []
        users = np.fromiter(self._watched, np.uint64, len(self._watched))
        outboxes = bool((self._columns.users["stamp"][self._columns.outboxes] > since).any())
        users = users[changed(self._columns.s, users.view(np.int64), since, outboxes)]
        return cast(list[int], users.tolist())

    def refills(self, limit: int | None = None) -> list[Refill]:
        """What is to be asked for, in the order in which it came to be missing; the first ones, if there is a limit."""
        return self._gaps.refills(limit)

    def digest(self) -> int:
        """The canonical hash of all timelines; see digest.py."""
        return partition_hash(self._columns, self.view)

    @property
    def users(self) -> int:
        return self._columns.count(at.USERS) - len(self._columns.outboxes)

    @property
    def entries(self) -> int:
        return self._columns.count(at.ENTRIES)

    @property
    def posts(self) -> int:
        return self._columns.count(at.POSTS)

    @property
    def refilling(self) -> int:
        return len(self._gaps)

    @property
    def memory_bytes(self) -> int:
        """Of users, posts and what they say; and what it takes to find them."""
        return self._columns.memory_bytes + self._applying.memory_bytes + self._gaps.memory_bytes

    def image(self) -> Image:
        """A copy of everything but the watches."""
        return image_of(self.number, self.next_offset, self._shape, self._columns, self._gaps, self._applying.last)

    @classmethod
    def restore(cls, image: Image, shape: Shape, salt: int = 0) -> Partition:
        """ValueError if it is of another shape."""
        check(image, shape)
        partition = cls(image.meta["number"], shape, salt)
        partition.next_offset = image.meta["next_offset"]
        partition._begin(restored_columns(image, shape, salt))
        restored_gaps(image, partition._gaps)
        partition._applying.last.update(restored_shards(image))
        return partition
