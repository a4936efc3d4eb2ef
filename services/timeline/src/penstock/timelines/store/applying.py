"""Applies records: walks the bytes, finds rows, does the four steps, settles.

In:  a record and its offset. Out: what it did.
Nothing is changed unless the record is one, is for this partition, and is the next of its shard.
"""

from __future__ import annotations

import numpy as np
from penstock.delivery.numbers import outbox_number
from penstock.timelines.store import changes as of
from penstock.timelines.store.blocks import kind_for, slabs_for
from penstock.timelines.store.changes import Changes
from penstock.timelines.store.columns import Columns
from penstock.timelines.store.forgetting import forget_shard
from penstock.timelines.store.gaps import Gaps
from penstock.timelines.store.layout import ADDED, FOLLOWEES, NO_TIME, NONE, REMOVED, STAMP, TRIMMED
from penstock.timelines.store.resolve import (
    DONE,
    find_readers,
    make_readers,
    number_readers,
    pool_bytes,
    release_posts,
    resolve_authors,
    resolve_posts,
    sort_spreads,
)
from penstock.timelines.store.rows import new_user
from penstock.timelines.store.settling import refilled, settle
from penstock.timelines.store.shards import Step, Verdict, verdict
from penstock.timelines.store.steps import follow, spread, unfollow, withdraw
from penstock.timelines.store.tables import find_user
from penstock.timelines.store.values import Applied, Shape, signed
from penstock.timelines.store.walk import walk


class Applying:
    """Writes to the columns and to the gaps."""

    def __init__(self, number: int, shape: Shape, columns: Columns, gaps: Gaps) -> None:
        self.last: dict[int, Step] = {}  # by shard
        self._number, self._shape = number, shape
        self._columns, self._gaps = columns, gaps
        self._changes = Changes()

    def apply(self, record: bytes, offset: int) -> Applied:
        data = np.frombuffer(record, np.uint8)
        changes, table = self._changes, self._columns.table
        self._walk(data.ctypes.data, data.size, offset)
        shard = changes.field(of.SHARD)
        step = Step(changes.field(of.EPOCH), changes.field(of.BATCH), changes.field(of.PART))
        judged = verdict(shard, self.last.get(shard), step)
        if judged is Verdict.DROP:
            return Applied(dropped=True)
        table[ADDED : TRIMMED + 1] = 0
        table[STAMP] += 1
        if judged is Verdict.FORGET_AND_APPLY:
            forget_shard(self._columns.s, shard)
        newest = self._steps(data.ctypes.data, offset)
        begun, ended = self._settle(offset)
        self.last[shard] = step
        return Applied(
            entries_added=int(table[ADDED]),
            entries_removed=int(table[REMOVED]),
            entries_trimmed=int(table[TRIMMED]),
            posts=changes.field(of.POSTS),
            newest_time_us=newest if newest != NO_TIME else None,
            refills_begun=begun,
            refills_ended=ended,
            forgot_shard=judged is Verdict.FORGET_AND_APPLY,
        )

    @property
    def memory_bytes(self) -> int:
        return self._changes.memory_bytes

    def _walk(self, data: int, size: int, offset: int) -> None:
        changes = self._changes
        while (code := walk(data, size, changes.address)) == of.FULL:
            changes.lengthen()
        if code != of.OK:
            near = changes.field(of.FAULT_AT)
            raise ValueError(f"{self._where(offset)} is no Delivery: {of.FAULTS[code]}, near byte {near:,}")
        if (partition := changes.field(of.PARTITION)) != self._number:
            raise ValueError(f"{self._where(offset)} is for timeline partition {partition}")
        if not 0 <= (shard := changes.field(of.SHARD)) < self._shape.shards:
            raise ValueError(
                f"{self._where(offset)} is of shard {shard}; "
                f"there are {self._shape.shards} (partitions of timeline.refills.v1), from 0 on"
            )

    def _where(self, offset: int) -> str:
        return f"the record at offset {offset} of partition {self._number}"

    def _steps(self, data: int, offset: int) -> int:
        columns, changes, s, c = self._columns, self._changes, self._columns.s, self._changes.address
        # For as many authors and posts as the record has, as if all were new.
        columns.want_authors(changes.field(of.AUTHORS))
        columns.want_slots(changes.field(of.POSTS))
        columns.want_pool(pool_bytes(c))
        resolve_authors(s, c, data)
        self._make_outboxes()
        changes.want_readers()
        if not number_readers(s, c, data):
            raise ValueError(
                f"{self._where(offset)} names readers of other partitions: "
                f"the join does not count {self._shape.partitions} of them"
            )
        find_readers(s, c)
        at = make_readers(s, c, 0)
        while at != DONE:
            columns.want_users(1)
            at = make_readers(s, c, at)
        newest = resolve_posts(s, c, data)
        sort_spreads(s, c)
        unfollow(s, c)
        withdraw(s, c, data)
        self._follow()
        self._spread()
        release_posts(s, c)
        return int(newest)

    def _make_outboxes(self) -> None:
        columns, operations = self._columns, self._changes.rows(of.OPS)
        for author in operations["author"][(operations["op"] == of.SPREAD) & (operations["outbox"] != 0)].tolist():
            row = int(self._changes.rows(of.AUTHORS)["row"][author])
            if columns.authors[row]["outbox"] == NONE:
                columns.want_users(1)
                outbox = new_user(columns.s, signed(outbox_number(columns.author_name(row))))
                columns.users[outbox]["author"] = row
                columns.authors[row]["outbox"] = outbox
                columns.outboxes.append(outbox)

    def _follow(self) -> None:
        columns, changes = self._columns, self._changes
        operation, reader = follow(columns.s, changes.address, 0, 0)
        while operation != DONE:
            row = changes.reader(int(changes.rows(of.OPS)["first"][operation]) + reader)
            arena = columns.s + 8 * FOLLOWEES
            columns.want_followees(slabs_for(arena, kind_for(arena, int(columns.users[row]["followees"]) + 1)))
            operation, reader = follow(columns.s, changes.address, operation, reader)

    def _spread(self) -> None:
        columns, changes = self._columns, self._changes
        operation, reader = spread(columns.s, changes.address, 0, 0)
        while operation != DONE:
            columns.want_inboxes()
            operation, reader = spread(columns.s, changes.address, operation, reader)

    def _settle(self, offset: int) -> tuple[int, int]:
        s, ended = self._columns.s, 0
        for reader, request in self._changes.rows(of.REFILLED).tolist():
            row = find_user(s, reader)
            if self._gaps.answered(row, request):
                refilled(s, row)
                ended += 1
        begins, ends = settle(s)
        for row in ends.tolist():
            self._gaps.end(row)
        for row in begins.tolist():
            self._gaps.begin(row, offset + 1)
        return len(begins), ended + len(ends)
