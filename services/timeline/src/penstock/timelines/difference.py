"""What a subscriber must be told: the difference between what it holds and what its timeline is.

In:  what the subscriber holds (from its cursor, and what it was told since); its timeline in a partition.
Out: the bytes of SubscribeResponses: posts removed, then posts added, oldest first, each with the cursor that is true
     after it.
Guaranteed: whoever has applied the messages up to any one of them holds what that one's cursor says. A post that was
edited has another number, so the old one is removed and the new one added.
Pure: it reads the partition, under the lock that the caller holds.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from penstock.events.v1.event_pb2 import Position
from penstock.timeline.v1 import timeline_pb2
from penstock.timelines import wire
from penstock.timelines.store import Partition, Place

_ADDED = timeline_pb2.SubscribeResponse.ADDED_FIELD_NUMBER
_REMOVED = timeline_pb2.SubscribeResponse.REMOVED_FIELD_NUMBER
_HEARTBEAT = wire.field(timeline_pb2.SubscribeResponse.HEARTBEAT_FIELD_NUMBER, b"")
_CURSOR = timeline_pb2.SubscribeResponse.CURSOR_FIELD_NUMBER
_HELD = timeline_pb2.Cursor.HELD_FIELD_NUMBER

# Told at a time: what waits to be sent to one subscriber takes no more memory than this.
CHANGES_MAX = 64
CHANGES_BYTES_MAX = 1 << 20
Name = tuple[str, str]  # a post's id and author


@dataclass
class Changes:
    """Messages in order; the first so many say that a post left. `more`: the timeline is not held yet."""

    messages: list[bytes] = field(default_factory=list)
    removed: int = 0
    more: bool = False


@dataclass
class Reader:
    """One subscriber. `floor`: it sees posts that are not older than this one; None: all."""

    floor: Place | None
    held: dict[int, Name | None]  # by number; None: it held the post before it came to us, and we have not met it

    def changes(self, partition: Partition, user: int, seen: Iterable[Position]) -> Changes:
        """The next of what leads from what is held to the timeline as it is; the reader is taken to hold them then."""
        slots = {partition.post_number(slot): slot for slot in self._view(partition, user)}
        removed = [number for number in self.held if number not in slots]
        added = [number for number in slots if number not in self.held]
        changes = Changes()
        if removed or added:
            cursor, size = _Cursor(self.floor, seen), 0
            for number in (*removed, *reversed(added)):
                if len(changes.messages) >= CHANGES_MAX or size >= CHANGES_BYTES_MAX:
                    changes.more = True
                    break
                slot = slots.get(number)
                changes.removed += slot is None
                change = self._remove(number) if slot is None else self._add(number, slot, partition)
                changes.messages.append(change + cursor.holding(self.held))
                size += len(changes.messages[-1])
        for number in [number for number, name in self.held.items() if name is None and number in slots]:
            self.held[number] = _name(partition, slots[number])  # so that its removal can be told by name
        return changes

    def _remove(self, number: int) -> bytes:
        post_id, author = self.held.pop(number) or ("", "")
        gone = timeline_pb2.PostRemoved(number=number, id=post_id, author=author)
        return wire.field(_REMOVED, gone.SerializeToString())

    def _add(self, number: int, slot: int, partition: Partition) -> bytes:
        self.held[number] = _name(partition, slot)
        return wire.field(_ADDED, partition.payload(slot))

    def heartbeat(self, seen: Iterable[Position]) -> bytes:
        return _HEARTBEAT + _Cursor(self.floor, seen).holding(self.held)

    def _view(self, partition: Partition, user: int) -> list[int]:
        """Slots, newest first."""
        slots: list[int] = partition.view(user).tolist()
        return slots if self.floor is None else slots[: _not_older(partition, slots, self.floor)]


def reader_of(cursor: timeline_pb2.Cursor, floor: Place | None) -> Reader:
    return Reader(floor, dict.fromkeys(cursor.held))


class _Cursor:
    """Cursors that differ in what is held."""

    def __init__(self, floor: Place | None, seen: Iterable[Position]) -> None:
        place = timeline_pb2.Cursor(seen=seen)
        if floor is not None:
            place.time_us, place.post_id, place.author = floor
        self._start = place.SerializeToString()

    def holding(self, numbers: Iterable[int]) -> bytes:
        held = list(numbers)
        packed = wire.field(_HELD, struct.pack(f"<{len(held)}Q", *held)) if held else b""
        return wire.field(_CURSOR, self._start + packed)


def _name(partition: Partition, slot: int) -> Name:
    place = partition.place(slot)
    return place.post_id, place.author


def _not_older(partition: Partition, slots: Sequence[int], floor: Place) -> int:
    """How many of these, newest first, are not older than the floor."""
    low, high = 0, len(slots)
    while low < high:
        middle = (low + high) // 2
        if _order(partition.place(slots[middle])) >= _order(floor):
            low = middle + 1
        else:
            high = middle
    return low


def _order(place: Place) -> tuple[int, bytes, bytes]:
    """Texts by their UTF-8 bytes, as the store sorts."""
    return place.time_us, place.post_id.encode(), place.author.encode()
