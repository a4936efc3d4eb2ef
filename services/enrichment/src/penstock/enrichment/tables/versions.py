"""The versions of one row, oldest first, and the rule by which old ones go.

In:  a row's packed versions and a new one.
Out: the row with it, cut to its history. Pure, on immutable values.

Guaranteed: a row is a function of the *set* of changes that it was given. With S all versions ever given,
- kept are the greatest `versions_max` of S, except those whose successor is as old as the horizon;
- `evicted` says whether S had more than that;
- beneath the kept ones stays the *floor*: the few evicted versions that still lend a value to a column which the
  oldest kept version leaves unknown, and nothing else.
Each of the three only shrinks or stays when S grows or the horizon rises, and each can be found again from itself
and what is new. That is why the order of arrival, duplicates and restarts make no difference.

A body is one packed version without its time: source, shape, position, values (see bodies.py).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

from penstock.enrichment.tables.bodies import position_of

COUNT: Final = Struct("<H")
EVICTED: Final = 0x8000
_TIME: Final = Struct("<q")
_SIZE: Final = Struct("<I")

# The columns that a body leaves unknown.
UnknownOf = Callable[[bytes], tuple[str, ...]]


@lru_cache(maxsize=256)
def directory(count: int) -> Struct:
    """Times and sizes of the bodies that follow it; times first and together, for the search."""
    return Struct(f"<{count}q{count}I")


class Row(NamedTuple):
    evicted: bool
    times: tuple[int, ...]
    sizes: tuple[int, ...]
    bodies: bytes

    def body(self, index: int) -> bytes:
        begin = sum(self.sizes[:index])
        return self.bodies[begin : begin + self.sizes[index]]

    def pack(self) -> bytes:
        count = len(self.times)
        head = COUNT.pack(count | EVICTED if self.evicted else count)
        return head + directory(count).pack(*self.times, *self.sizes) + self.bodies

    def insert(self, index: int, valid_from_us: int, body: bytes) -> Row:
        begin = sum(self.sizes[:index])
        return Row(
            self.evicted,
            (*self.times[:index], valid_from_us, *self.times[index:]),
            (*self.sizes[:index], len(body), *self.sizes[index:]),
            self.bodies[:begin] + body + self.bodies[begin:],
        )

    def without(self, index: int) -> Row:
        begin = sum(self.sizes[:index])
        return Row(
            self.evicted,
            (*self.times[:index], *self.times[index + 1 :]),
            (*self.sizes[:index], *self.sizes[index + 1 :]),
            self.bodies[:begin] + self.bodies[begin + self.sizes[index] :],
        )


def unpack(packed: bytes) -> Row:
    (word,) = COUNT.unpack_from(packed)
    count = word & ~EVICTED
    parts = directory(count)
    numbers = parts.unpack_from(packed, COUNT.size)
    return Row(word >= EVICTED, numbers[:count], numbers[count:], packed[COUNT.size + parts.size :])


def count_of(packed: bytes) -> int:
    count: int = COUNT.unpack_from(packed)[0] & ~EVICTED
    return count


def newest_of(packed: bytes) -> tuple[int, bytes]:
    """Time and body of the newest version."""
    count = count_of(packed)
    (valid_from_us,) = _TIME.unpack_from(packed, COUNT.size + _TIME.size * (count - 1))
    return valid_from_us, packed[newest_at(packed, count) :]


def newest_at(packed: bytes, count: int) -> int:
    """Where the newest body begins."""
    size: int = _SIZE.unpack_from(packed, COUNT.size + (_TIME.size + _SIZE.size) * count - _SIZE.size)[0]
    return len(packed) - size


def appended(packed: bytes, numbers: tuple[int, ...], valid_from_us: int, body: bytes, first: int) -> bytes:
    """The row with a version that is newer than all, and without those below the index `first`, none of which may
    have to stay as floor. As insert() and evict(), but hardly slower for many versions. `numbers`: its directory."""
    count = len(numbers) // 2
    sizes_at = COUNT.size + _TIME.size * count
    bodies_at = sizes_at + _SIZE.size * count
    was_evicted = COUNT.unpack_from(packed)[0] & EVICTED
    parts = (
        COUNT.pack(count + 1 - first | (EVICTED if first else was_evicted)),
        packed[COUNT.size + _TIME.size * first : sizes_at],
        _TIME.pack(valid_from_us),
        packed[sizes_at + _SIZE.size * first : bodies_at],
        _SIZE.pack(len(body)),
        packed[bodies_at + sum(numbers[count : count + first]) :],
        body,
    )
    return b"".join(parts)


def place(row: Row, valid_from_us: int, position: bytes) -> tuple[int, bool]:
    """Where the version stands or would stand, and whether it is there already."""
    index = bisect_right(row.times, valid_from_us)
    while index and row.times[index - 1] == valid_from_us:
        below = position_of(row.body(index - 1))
        if below < position:
            break
        index -= 1
        if below == position:
            return index, True
    return index, False


def first_kept(times: tuple[int, ...], versions_max: int, horizon_us: int) -> int:
    """The index of the oldest kept version: not too many, and none whose successor is as old as the horizon."""
    # times[i + 1] <= horizon_us for all i below: versions at or before the horizon, but for the last of them.
    return max(len(times) - versions_max, bisect_right(times, horizon_us) - 1, 0)


def evict(row: Row, versions_max: int, horizon_us: int, unknown_of: UnknownOf) -> Row:
    """The row cut to its history, over its floor."""
    first = first_kept(row.times, versions_max, horizon_us)
    if first == 0:
        return row
    begin = sum(row.sizes[:first])
    kept = Row(True, row.times[first:], row.sizes[first:], row.bodies[begin:])
    wanted = set(unknown_of(row.body(first)))
    index = first
    while wanted and index:
        index -= 1
        body = row.body(index)
        still_wanted = wanted.intersection(unknown_of(body))
        if len(still_wanted) < len(wanted):
            kept = kept.insert(0, row.times[index], body)
        wanted = still_wanted
    return kept
