"""What goes into the store and comes out of it, besides numbers and bytes.

In:  Shape (what a partition is), Place (where in a timeline).
Out: Applied (what a record did), Page, Refill (posts to ask for again), Image (all of a partition, to be kept).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Slots = NDArray[np.uint32]

IMAGE_FORMAT: Final = 1
LIST_MAX: Final = 1 << 20


class OutOfOrderError(Exception):
    """A record is not the one that must come next: some were lost, or the join has a bug. Nothing was applied."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The same for all partitions: how long a timeline is, how many partitions there are, and how many shards."""

    capacity: int
    slack: int
    partitions: int
    shards: int

    def __post_init__(self) -> None:
        if self.capacity < 1 or self.slack < 1 or self.capacity + self.slack > LIST_MAX:
            raise ValueError(
                f"capacity {self.capacity}, slack {self.slack}: at least 1 each, at most {LIST_MAX:,} together"
            )
        if self.partitions < 1 or self.shards < 1:
            raise ValueError(f"{self.partitions} partitions and {self.shards} shards: there is at least one of each")

    @property
    def room(self) -> int:
        """How many entries an inbox may have before its oldest are dropped."""
        return self.capacity + self.slack


def signed(number: int) -> int:
    """The 64 bits of a number, as compiled code takes them."""
    return number - (1 << 64) if number >> 63 else number


class Place(NamedTuple):
    """Where a post stands: posts are sorted by time, then by id, then by author (texts by their UTF-8 bytes)."""

    time_us: int
    post_id: str
    author: str


class Page(NamedTuple):
    """Posts of a timeline, newest first."""

    slots: Slots
    more: bool  # there are others in the direction of travel


class Applied(NamedTuple):
    """What a record did."""

    dropped: bool = False  # it had been applied before, or belongs to an earlier life of the join
    entries_added: int = 0
    entries_removed: int = 0  # withdrawn, unfollowed, forgotten
    entries_trimmed: int = 0  # the oldest of inboxes that became too long
    posts: int = 0  # that the record speaks of
    newest_time_us: int | None = None  # of those
    refills_begun: int = 0
    refills_ended: int = 0
    forgot_shard: bool = False  # the join had begun anew


@dataclass(frozen=True, slots=True)
class Refill:
    """Posts that are to be asked for again. Stays the same until it is answered, but for records that were."""

    reader: int  # a user, or an author's outbox
    request: int
    unanswered: Callable[[], list[tuple[int, bytes]]]

    @property
    def records(self) -> list[tuple[int, bytes]]:
        """The shard and the RefillRequest of every record that is not answered. Made now: the reader's lock applies."""
        return self.unanswered()


@dataclass(frozen=True, slots=True)
class Image:
    """All of a partition at one moment, shared with nobody."""

    format: int
    meta: Mapping[str, Any]  # as JSON can have it
    arrays: Mapping[str, NDArray[Any]]  # each of one dimension, of plain numbers
