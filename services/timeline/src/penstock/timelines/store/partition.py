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
from typing import Final

import numpy as np
from penstock.timelines.store.applying import Applying
from penstock.timelines.store.columns import Columns, empty_state
from penstock.timelines.store.digest import MODULUS, payload_hash, timeline_hash
from penstock.timelines.store.gaps import Gaps
from penstock.timelines.store.image import check, image_of, restored_gaps, restored_shards, restored_state
from penstock.timelines.store.layout import ENTRIES, NONE, OUTBOXES, POSTS, SLOTS_USED, STAMP, USERS
from penstock.timelines.store.reading import newest_stamp, read, reader_row, refilling
from penstock.timelines.store.values import Applied, Image, OutOfOrderError, Page, Place, Refill, Shape, Slots

_NO_TEXT: Final = np.empty(0, np.uint8)


class Partition:
    """`salt`: any number that strangers do not know; see tables.py."""

    def __init__(self, number: int, shape: Shape, salt: int = 0) -> None:
        if not 0 <= number < shape.partitions:
            raise ValueError(f"partition {number}: there are {shape.partitions}, from 0 on")
        self.number = number
        self.next_offset = 0  # of timeline.deliveries.v1
        self._shape = shape
        self._begin(Columns(empty_state(number, shape, salt)))

    def _begin(self, columns: Columns) -> None:
        self._columns = columns
        self._gaps = Gaps(self.number, columns)
        self._applying = Applying(self.number, self._shape, columns, self._gaps)
        self._watched: Counter[int] = Counter()
        self._seen_stamp = columns.count(STAMP)

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
        """What the user sees beyond a place (or from the newest, or the oldest on), as much as is wanted of it."""
        state = self._columns.state
        row = reader_row(state, np.uint64(user))
        slots = np.empty(max(min(limit, self._shape.capacity), 0), np.uint32)
        if row == NONE:
            return Page(slots[:0], more=False)
        time_us, text, id_size = 0, _NO_TEXT, 0
        if place is not None:
            time_us, post_id = place.time_us, place.post_id.encode()
            text, id_size = np.frombuffer(bytearray(post_id + place.author.encode()), np.uint8), len(post_id)
        count, more = read(state, row, place is not None, time_us, text, id_size, newer, slots)
        return Page(slots[:count], bool(more))

    def place(self, slot: int) -> Place:
        state = self._columns.state
        post = state.posts[slot]
        begin = int(post["at"]) + int(post["id_at"])
        post_id = state.pool[begin : begin + int(post["id_size"])].tobytes().decode()
        return Place(int(post["time_us"]), post_id, self._gaps.name(int(post["author"])))

    def payload(self, slot: int) -> bytes:
        """The serialized Post, as it came."""
        state = self._columns.state
        post = state.posts[slot]
        begin = int(post["at"])
        return state.pool[begin : begin + int(post["size"])].tobytes()

    def post_number(self, slot: int) -> int:
        return int(self._columns.state.posts[slot]["number"])

    def is_refilling(self, user: int) -> bool:
        """Whether older posts may be missing: from the inbox, or from an outbox that is merged with it."""
        row = reader_row(self._columns.state, np.uint64(user))
        return row != NONE and bool(refilling(self._columns.state, row))

    def floor(self, user: int) -> Place | None:
        """Posts of the inbox that are not older are all there; None: all are, whatever their age."""
        row = reader_row(self._columns.state, np.uint64(user))
        floor = NONE if row == NONE else int(self._columns.state.users[row]["floor"])
        return None if floor == NONE else self.place(floor)

    def watch(self, user: int) -> None:
        self._watched[user] += 1

    def unwatch(self, user: int) -> None:
        self._watched[user] -= 1
        if self._watched[user] <= 0:
            del self._watched[user]

    def changed(self) -> list[int]:
        """Watched users whose view may have changed since the last call."""
        state, since = self._columns.state, self._seen_stamp
        self._seen_stamp = self._columns.count(STAMP)
        rows = ((user, reader_row(state, np.uint64(user))) for user in self._watched)
        return [user for user, row in rows if row != NONE and newest_stamp(state, row) > since]

    def refills(self) -> list[Refill]:
        """What is to be asked for, in the order in which it came to be missing."""
        return self._gaps.refills()

    def digest(self) -> int:
        """The canonical hash of all timelines; see digest.py."""
        state = self._columns.state
        hashes = np.zeros(self._columns.count(SLOTS_USED), np.uint64)
        for slot in np.flatnonzero(state.posts["entries"][: hashes.size] > 0).tolist():
            hashes[slot] = payload_hash(self.payload(slot))
        total = 0
        for user in state.users["number"][: self._columns.count(USERS)].tolist():
            slots = self.view(user)
            if slots.size:
                posts = state.posts[slots]
                columns = (posts["time_us"].view(np.uint64), posts["number"], hashes[slots])
                total += timeline_hash(user, np.stack(columns, axis=1))
        return total % MODULUS

    @property
    def users(self) -> int:
        return self._columns.count(USERS) - self._columns.count(OUTBOXES)

    @property
    def entries(self) -> int:
        return self._columns.count(ENTRIES)

    @property
    def posts(self) -> int:
        return self._columns.count(POSTS)

    @property
    def refilling(self) -> int:
        return len(self._gaps)

    @property
    def memory_bytes(self) -> int:
        return self._columns.memory_bytes

    def image(self) -> Image:
        """A copy of everything but the watches."""
        return image_of(
            self.number, self.next_offset, self._shape, self._columns.state, self._gaps, self._applying.last
        )

    @classmethod
    def restore(cls, image: Image, shape: Shape, salt: int = 0) -> Partition:
        """ValueError if it is of another shape."""
        check(image, shape)
        partition = cls(image.meta["number"], shape, salt)
        partition.next_offset = image.meta["next_offset"]
        columns = Columns(restored_state(image, shape, salt))
        partition._begin(columns)
        partition._gaps.by_row.update(restored_gaps(image, columns).by_row)
        partition._applying.last.update(restored_shards(image))
        return partition
