"""Applies records: walks the bytes, finds rows, does the four steps, settles.

In:  a record and its offset. Out: what it did.
Nothing is changed unless the record is one, is for this partition, and is the next of its shard.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from penstock.delivery.numbers import outbox_number
from penstock.timelines.store import changes as of
from penstock.timelines.store.blocks import kind_for, slabs_for
from penstock.timelines.store.changes import Changes, empty_changes, longer
from penstock.timelines.store.columns import Columns
from penstock.timelines.store.forgetting import forget_shard
from penstock.timelines.store.gaps import Gaps
from penstock.timelines.store.layout import ADDED, NO_TIME, NONE, OUTBOXES, REMOVED, STAMP, TRIMMED
from penstock.timelines.store.pool import piece_bytes
from penstock.timelines.store.resolve import (
    DONE,
    FOREIGN,
    release_posts,
    resolve_authors,
    resolve_posts,
    resolve_readers,
    sort_spreads,
)
from penstock.timelines.store.rows import new_user
from penstock.timelines.store.settling import refilled, settle
from penstock.timelines.store.shards import Step, Verdict, verdict
from penstock.timelines.store.steps import follow, spread, unfollow, withdraw
from penstock.timelines.store.tables import find_user
from penstock.timelines.store.values import Applied, Shape
from penstock.timelines.store.walk import walk


class Applying:
    """Writes to the columns and to the gaps."""

    def __init__(self, number: int, shape: Shape, columns: Columns, gaps: Gaps) -> None:
        self.last: dict[int, Step] = {}  # by shard
        self._number, self._shape = number, shape
        self._columns, self._gaps = columns, gaps
        self._changes = empty_changes()

    def apply(self, record: bytes, offset: int) -> Applied:
        data = np.frombuffer(record, np.uint8)
        head = self._walk(data, offset)
        shard, step = int(head[of.SHARD]), Step(int(head[of.EPOCH]), int(head[of.BATCH]), int(head[of.PART]))
        judged = verdict(shard, self.last.get(shard), step)
        if judged is Verdict.DROP:
            return Applied(dropped=True)
        counts = self._columns.state.counts
        counts[[ADDED, REMOVED, TRIMMED]] = 0
        counts[STAMP] += 1
        if judged is Verdict.FORGET_AND_APPLY:
            forget_shard(self._columns.state, shard)
        newest = self._steps(data, offset)
        begun, ended = self._settle(offset)
        self.last[shard] = step
        counts = self._columns.state.counts
        return Applied(
            entries_added=int(counts[ADDED]),
            entries_removed=int(counts[REMOVED]),
            entries_trimmed=int(counts[TRIMMED]),
            posts=int(head[of.POSTS]),
            newest_time_us=newest if newest != NO_TIME else None,
            refills_begun=begun,
            refills_ended=ended,
            forgot_shard=judged is Verdict.FORGET_AND_APPLY,
        )

    def _walk(self, data: NDArray[np.uint8], offset: int) -> NDArray[np.int64]:
        while (code := walk(data.ctypes.data, data.size, self._changes)) == of.FULL:
            self._changes = longer(self._changes)
        head = self._changes.head
        if code != of.OK:
            raise ValueError(
                f"{self._where(offset)} is no Delivery: {of.FAULTS[code]}, near byte {head[of.FAULT_AT]:,}"
            )
        if head[of.PARTITION] != self._number:
            raise ValueError(f"{self._where(offset)} is for timeline partition {head[of.PARTITION]}")
        if not 0 <= head[of.SHARD] < self._shape.shards:
            raise ValueError(
                f"{self._where(offset)} is of shard {head[of.SHARD]}; "
                f"there are {self._shape.shards} (partitions of timeline.refills.v1)"
            )
        if head[of.READERS] > self._changes.readers.size:
            self._changes = self._changes._replace(readers=np.empty(2 * head[of.READERS], np.int32))
        return head

    def _where(self, offset: int) -> str:
        return f"the record at offset {offset} of partition {self._number}"

    def _steps(self, data: NDArray[np.uint8], offset: int) -> int:
        columns, changes = self._columns, self._changes
        address = data.ctypes.data
        self._make_room(changes)
        resolve_authors(columns.state, changes, data)
        self._make_outboxes(changes)
        at = 0
        while (at := resolve_readers(columns.state, changes, address, at)) >= 0:
            columns.want_users(1)
        if at == FOREIGN:
            raise ValueError(
                f"{self._where(offset)} names readers of other partitions: "
                f"the join does not count {self._shape.partitions} of them"
            )
        newest = resolve_posts(columns.state, changes, data)
        sort_spreads(columns.state, changes)
        unfollow(columns.state, changes)
        withdraw(columns.state, changes, address)
        self._follow(changes)
        self._spread(changes)
        release_posts(columns.state, changes)
        return int(newest)

    def _make_room(self, changes: Changes) -> None:
        """For as many authors and posts as the record has, as if all were new."""
        authors, posts = changes.head[of.AUTHORS], changes.head[of.POSTS]
        self._columns.want_authors(int(authors))
        self._columns.want_slots(int(posts))
        sizes = [*changes.authors[:authors, of.NAME_SIZE].tolist(), *changes.posts[:posts, of.SIZE].tolist()]
        self._columns.want_pool(sum(piece_bytes(size) for size in sizes))

    def _make_outboxes(self, changes: Changes) -> None:
        ops = changes.ops[: changes.head[of.OPS]]
        columns = self._columns
        for author in ops[(ops[:, of.OP] == of.SPREAD) & (ops[:, of.OUTBOX] != 0), of.OP_AUTHOR].tolist():
            row = int(changes.authors[author, of.ROW])
            if columns.state.authors[row]["outbox"] == NONE:
                columns.want_users(1)
                number = np.uint64(outbox_number(self._gaps.name(row)))
                outbox = new_user(columns.state, number)
                columns.state.users[outbox]["author"] = row
                columns.state.authors[row]["outbox"] = outbox
                columns.state.counts[OUTBOXES] += 1

    def _follow(self, changes: Changes) -> None:
        index, reader = follow(self._columns.state, changes, 0, 0)
        while index != DONE:
            state = self._columns.state
            user = state.users[changes.readers[changes.ops[index, of.FIRST] + reader]]
            kind = kind_for(state.followees, int(user["followees"]) + 1)
            self._columns.want_followees(int(slabs_for(state.followees, kind)))
            index, reader = follow(self._columns.state, changes, index, reader)

    def _spread(self, changes: Changes) -> None:
        index, reader = spread(self._columns.state, changes, 0, 0)
        while index != DONE:
            self._columns.want_inboxes()
            index, reader = spread(self._columns.state, changes, index, reader)

    def _settle(self, offset: int) -> tuple[int, int]:
        state, ended = self._columns.state, 0
        for reader, request in self._changes.refilled[: self._changes.head[of.REFILLED]].view(np.uint64).tolist():
            row = int(find_user(state, np.uint64(reader)))
            if self._gaps.answered(row, request):
                refilled(state, row)
                ended += 1
        begins, ends = settle(state)
        for row in ends.tolist():
            self._gaps.end(row)
        for row in begins.tolist():
            self._gaps.begin(row, offset + 1)
        return len(begins), ended + len(ends)
