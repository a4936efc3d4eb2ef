"""Which inboxes wait for posts to come again, whom they ask, and who has answered.

In:  the row of an inbox that became too short, at a record; answers.
Out: request records for the join, and whether an answer was the last one missing.
Guaranteed: what is asked, in how many records, depends on nothing but the log up to the gap, so that a replay waits
for the same answers. Every record of a request has its own number (the request's, and which record it is), so that an
answer that comes twice, or late, is never taken for another one's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray
from penstock.timeline.v1.delivery_pb2 import RefillRequest
from penstock.timelines.store.columns import Columns
from penstock.timelines.store.layout import NONE
from penstock.timelines.store.values import Refill

RECORD_BYTES_MAX: Final = 512 * 1024
_FIELD_BYTES: Final = 6  # a tag and a size, at most
_HEAD_BYTES: Final = 64
_RECORD_BITS: Final = 16


@dataclass
class Gap:
    """One inbox's. Record i asks for authors[ends[i - 1] : ends[i]], which are of one shard."""

    request: int
    authors: NDArray[np.int32]
    ends: list[int]
    answered: set[int] = field(default_factory=set)


class Gaps:
    """By row of the inbox, in the order in which they began."""

    def __init__(self, partition: int, columns: Columns) -> None:
        self.partition = partition
        self.by_row: dict[int, Gap] = {}
        self._columns = columns

    def __len__(self) -> int:
        return len(self.by_row)

    def begin(self, row: int, request: int) -> None:
        user = self._columns.users[row]
        if (author := int(user["author"])) != NONE:
            self.by_row[row] = Gap(request, np.array([author], np.int32), [1])
            return
        block = int(user["followees_block"])
        authors = self._columns.followees.words[block : block + int(user["followees"])].astype(np.int32)
        authors = authors[np.argsort(self._columns.authors["shard"][authors], kind="stable")]
        self.by_row[row] = Gap(request, authors, list(self._ends(authors)))

    def _ends(self, authors: NDArray[np.int32]) -> Iterator[int]:
        """Where records end: with their shard, or when they are large enough."""
        known = self._columns.authors
        shards, sizes = known["shard"][authors], known["size"][authors].astype(np.int64) + _FIELD_BYTES
        last = np.append(np.flatnonzero(shards[1:] != shards[:-1]) + 1, authors.size)
        begin = 0
        for end in last.tolist():
            filled = _HEAD_BYTES
            if filled + int(sizes[begin:end].sum()) > RECORD_BYTES_MAX:
                for at in range(begin, end):
                    if filled + int(sizes[at]) > RECORD_BYTES_MAX and at > begin:
                        yield at
                        filled = _HEAD_BYTES
                    filled += int(sizes[at])
            yield end
            begin = end

    def answered(self, row: int, record: int) -> bool:
        """Whether nothing is missing any more. `record` is a record's own number."""
        gap = self.by_row.get(row)
        if gap is None or gap.request != record >> _RECORD_BITS:
            return False
        gap.answered.add(record & (1 << _RECORD_BITS) - 1)
        if not gap.answered.issuperset(range(len(gap.ends))):
            return False
        del self.by_row[row]
        return True

    def end(self, row: int) -> None:
        del self.by_row[row]

    def refills(self, limit: int | None) -> list[Refill]:
        users, some = self._columns.users, islice(self.by_row.items(), limit)
        return [Refill(int(users[row]["number"]), gap.request, Asker(self, row, gap)) for row, gap in some]

    @property
    def memory_bytes(self) -> int:
        return sum(gap.authors.nbytes for gap in self.by_row.values())

    def records(self, row: int, gap: Gap) -> list[tuple[int, bytes]]:
        columns = self._columns
        outbox, reader = int(columns.users[row]["author"]) != NONE, int(columns.users[row]["number"])
        found = []
        for record, (begin, end) in enumerate(zip([0, *gap.ends], gap.ends, strict=False)):
            if record not in gap.answered:
                request = RefillRequest(
                    reader=reader,
                    request=gap.request << _RECORD_BITS | record,
                    timeline_partition=self.partition,
                    authors=[columns.author_name(author) for author in gap.authors[begin:end].tolist()],
                    outbox=outbox,
                )
                found.append((int(columns.authors[gap.authors[begin]]["shard"]), request.SerializeToString()))
        return found


@dataclass(frozen=True, slots=True)
class Asker:
    """Makes a refill's records when they are wanted."""

    gaps: Gaps
    row: int
    gap: Gap

    def __call__(self) -> list[tuple[int, bytes]]:
        return self.gaps.records(self.row, self.gap)
