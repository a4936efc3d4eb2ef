"""Which events of a raw partition have been taken already: what makes "exactly once" of "at least once".

In:  identities, in the order of the log. Out: for each, whether it is new; and what to write to the changelog topic in
     the same transaction as the output, so that the answer survives a crash with exactly that output.
Sequence numbers of a boot are nearly always without gaps, so a boot is a short list of ranges, not a bitmap. Everything
is bounded: ranges per boot, ids per device, boots per partition. What a bound forgets is counted by its caller.
Pure: transactions, topics and clocks are elsewhere.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from enum import Enum, auto

RANGES_MAX = 256
IDS_MAX = 1_024

Boot = tuple[str, str]


class Verdict(Enum):
    """What an identity is."""

    NEW = auto()
    DUPLICATE = auto()
    # Among numbers whose gaps had to be forgotten: it may or may not be new, so it must not be dropped silently.
    UNKNOWN = auto()


class Ranges:
    """A set of numbers as ascending, disjoint ranges [low, high], flat: low0, high0, low1, high1, …

    Up to `forgotten`, gaps are no longer known.
    """

    __slots__ = ("edges", "forgotten")

    def __init__(self, edges: list[int] | None = None, forgotten: int = 0) -> None:
        self.edges = edges if edges is not None else []
        self.forgotten = forgotten

    def copy(self) -> Ranges:
        return Ranges(self.edges.copy(), self.forgotten)

    def add(self, number: int) -> Verdict:
        edges = self.edges
        if edges and number == edges[-1] + 1:  # the usual case
            edges[-1] = number
            return Verdict.NEW
        if number <= self.forgotten:
            return Verdict.UNKNOWN
        index = bisect_right(edges, number)
        # An odd index lies within a range; an even one may still be a range's own high edge.
        if index % 2 == 1 or (index and edges[index - 1] == number):
            return Verdict.DUPLICATE
        self._insert(index, number)
        return Verdict.NEW

    def _insert(self, index: int, number: int) -> None:
        edges = self.edges
        joins_left = index > 0 and edges[index - 1] == number - 1
        joins_right = index < len(edges) and edges[index] == number + 1
        if joins_left and joins_right:
            del edges[index - 1 : index + 1]
        elif joins_left:
            edges[index - 1] = number
        elif joins_right:
            edges[index] = number
        else:
            edges[index:index] = (number, number)
            if len(edges) > 2 * RANGES_MAX:
                self.forgotten = max(self.forgotten, edges[2] - 1)
                del edges[1:3]  # the lowest gap is closed


class Seen:
    """One raw partition. Between commit() and commit(), changes are staged: rollback() forgets them."""

    def __init__(self, boots_max: int) -> None:
        self._boots_max = boots_max
        self._ranges: OrderedDict[Boot, Ranges] = OrderedDict()
        self._ids: OrderedDict[str, OrderedDict[str, None]] = OrderedDict()
        self._staged: dict[Boot, Ranges] = {}
        self._staged_ids: dict[str, OrderedDict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._ranges) + len(self._ids)

    def take(self, device_id: str, boot_id: str, seq: int) -> Verdict:
        """Whether this number is new; if so, it is taken from now on."""
        return self.boot(device_id, boot_id).add(seq)

    def boot(self, device_id: str, boot_id: str) -> Ranges:
        """The numbers of a boot, staged: add() to them takes them. For many of one boot, ask once."""
        key = (device_id, boot_id)
        ranges = self._staged.get(key)
        if ranges is None:
            known = self._ranges.get(key)
            ranges = self._staged[key] = known.copy() if known is not None else Ranges()
        return ranges

    def take_id(self, device_id: str, event_id: str) -> Verdict:
        """The same for a client without numbers: the newest IDS_MAX ids of a device are known."""
        ids = self._staged_ids.get(device_id)
        if ids is None:
            ids = self._staged_ids[device_id] = self._ids.get(device_id, OrderedDict[str, None]()).copy()
        if event_id in ids:
            return Verdict.DUPLICATE
        ids[event_id] = None
        if len(ids) > IDS_MAX:
            ids.popitem(last=False)
        return Verdict.NEW

    def staged_ranges(self) -> Iterator[tuple[Boot, Ranges]]:
        """What the transaction must write to the changelog."""
        yield from self._staged.items()

    def staged_ids(self) -> Iterator[tuple[str, list[str]]]:
        """The same for ids, oldest first."""
        for device_id, ids in self._staged_ids.items():
            yield device_id, list(ids)

    def excess(self) -> list[Boot]:
        """The boots that the transaction must delete from the changelog, least recently used first."""
        fresh = sum(1 for key in self._staged if key not in self._ranges)
        over = len(self._ranges) + fresh - self._boots_max
        return [key for key, _ in zip((k for k in self._ranges if k not in self._staged), range(over), strict=False)]

    def excess_ids(self) -> list[str]:
        """The same of devices without numbers: as many of them are remembered as boots."""
        fresh = sum(1 for device_id in self._staged_ids if device_id not in self._ids)
        over = len(self._ids) + fresh - self._boots_max
        idle = (device_id for device_id in self._ids if device_id not in self._staged_ids)
        return [device_id for device_id, _ in zip(idle, range(over), strict=False)]

    def commit(self) -> None:
        """The transaction is committed: what was staged is so."""
        for key in self.excess():
            del self._ranges[key]
        for device_id in self.excess_ids():
            del self._ids[device_id]
        for key, ranges in self._staged.items():
            self._ranges[key] = ranges
            self._ranges.move_to_end(key)
        for device_id, ids in self._staged_ids.items():
            self._ids[device_id] = ids
            self._ids.move_to_end(device_id)
        self.rollback()

    def rollback(self) -> None:
        """The transaction was aborted: nothing happened."""
        self._staged.clear()
        self._staged_ids.clear()

    def restore(self, device_id: str, boot_id: str, ranges: Ranges | None) -> None:
        """From the changelog, in its order; None is a deletion."""
        self._ranges.pop((device_id, boot_id), None)
        if ranges is not None:
            self._ranges[device_id, boot_id] = ranges

    def restore_ids(self, device_id: str, ids: list[str] | None) -> None:
        """The same for ids."""
        self._ids.pop(device_id, None)
        if ids is not None:
            self._ids[device_id] = OrderedDict.fromkeys(ids)
