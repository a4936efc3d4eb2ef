"""A shard of the join: the posts and followers of its authors, and who gets what when they change.

In:  batches of changes. Out: Delivery records for every timeline partition that is concerned.
Guaranteed: the state is a function of the changes applied, whatever their order; records are a function of state and
batch, to the byte, so that a batch that is run again gives the same records.
No Spark here: whoever hosts it keeps the state (`bundle`, `Shard.of`) and hands in batches.

    new posts  × those who followed before      spread
    gone posts × those who followed before      withdrawn
    new followers × the author's newest posts   followed, spread (backfill)
    gone followers                              unfollowed: one retraction for all of the author's posts
    refill requests                             a follow said again: the backfill once more
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np
from penstock.delivery.numbers import Numbers, partition_starts
from penstock.jobs.timelines.bundle import Bundle, below, split, taken, texts
from penstock.jobs.timelines.changes import Batch, Cut, FollowChange
from penstock.jobs.timelines.follows import EdgeChanges, Follows
from penstock.jobs.timelines.places import Places
from penstock.jobs.timelines.posts import DEAD, INBOX, OUTBOX, Newest, PostChange, Posts
from penstock.jobs.timelines.records import NOBODY, Records


class Shape(NamedTuple):
    """What the timelines of a pipeline are like."""

    timeline_partitions: int
    backfill_max: int  # as many posts as an inbox has room for: capacity and slack
    merge_at_read_above: int  # followers


class Stamp(NamedTuple):
    """Where a batch stands among those of its shard."""

    shard: int
    epoch: int
    batch: int


@dataclass
class _Author:
    """What a batch changes for the readers of one author."""

    name: str
    number: int  # in this shard
    gone: list[int] = field(default_factory=list)  # numbers of posts
    gone_outbox: list[int] = field(default_factory=list)
    new: list[int] = field(default_factory=list)  # rows of posts
    new_outbox: list[int] = field(default_factory=list)
    began: Numbers = field(default_factory=lambda: NOBODY)
    ended: Numbers = field(default_factory=lambda: NOBODY)
    refills: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))  # readers by partition
    outbox_refills: set[int] = field(default_factory=set)  # partitions


class Outcome(NamedTuple):
    """Records as (timeline partition, value), in order; and how many (post, reader) pairs they speak of."""

    records: list[tuple[int, bytes]]
    entries: int


class Shard:
    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._places = Places()
        self._names: list[str] = []
        self._authors: dict[str, int] = {}
        self._posts = Posts(self._places)
        self._follows = Follows(self._places)
        self._posts_cut = self._follows_cut = Cut(-(1 << 63), b"")
        self._starts = partition_starts(shape.timeline_partitions)

    @property
    def posts(self) -> int:
        """Known ones, gone ones included."""
        return len(self._posts)

    @property
    def edges(self) -> int:
        """Known ones, ended ones included."""
        return self._follows.edges()

    def apply(self, batch: Batch, stamp: Stamp) -> Outcome:
        """Takes the batch in, and says who is told what."""
        changed = self._take(batch)
        self._ask(batch, changed)
        outcome = self._tell(batch, changed, stamp)
        self._follows.settle()
        return outcome

    def replay(self, batch: Batch) -> None:
        """Takes in a batch whose records were written before."""
        self._take(batch)
        self._follows.settle()

    def _take(self, batch: Batch) -> dict[str, _Author]:
        changed: dict[str, _Author] = {}
        self._take_follows(batch, changed)  # first: how many followers there are decides how posts are told
        self._take_posts(batch, changed)
        return changed

    def _take_follows(self, batch: Batch, changed: dict[str, _Author]) -> None:
        cut = self._follows_cut = max(self._follows_cut, batch.follows_cut or self._follows_cut)
        follows = {(one.author, one.follower): one for one in batch.follows if Cut(one.time_us, one.position) >= cut}
        if batch.follows_cut is not None:
            for author, follower, time_us, position in self._follows.older_than(*cut):
                edge = self._names[author], follower
                follows.setdefault(edge, FollowChange(*edge, time_us, position, follows=False))
        if not follows:
            return
        changes = self._edge_changes(list(follows.values()))
        turned = self._follows.apply(changes)
        for author in np.unique(changes.author[turned.began | turned.ended]).tolist():
            span = slice(*np.searchsorted(changes.author, [author, author + 1]))
            one = self._changed(changed, self._names[author])
            one.began = changes.follower[span][turned.began[span]]
            one.ended = changes.follower[span][turned.ended[span]]

    def _edge_changes(self, follows: list[FollowChange]) -> EdgeChanges:
        authors = np.array([self._author(one.author) for one in follows], np.int64)
        numbers = np.array([one.follower for one in follows], np.uint64)
        order = np.lexsort((numbers, authors))
        positions = [self._places.split(one.position) for one in follows]
        return EdgeChanges(
            authors[order],
            numbers[order],
            np.array([one.time_us for one in follows], np.int64)[order],
            np.array([place for place, _ in positions], np.uint32)[order],
            np.array([tail for _, tail in positions], np.uint64)[order],
            np.array([one.follows for one in follows], np.uint8)[order],
        )

    def _take_posts(self, batch: Batch, changed: dict[str, _Author]) -> None:
        cut = self._posts_cut = max(self._posts_cut, batch.posts_cut or self._posts_cut)
        for change in batch.posts:
            if Cut(change.time_us, change.position) >= cut and self._posts.is_news(change):
                self._take_post(change, self._author(change.author), changed)
        if batch.posts_cut is not None:
            for change in self._posts.older_than(*cut):
                self._take_post(change, self._posts.author(change.key), changed)

    def _take_post(self, change: PostChange, author: int, changed: dict[str, _Author]) -> None:
        mode = DEAD
        if change.payload is not None:
            mode = OUTBOX if self._follows.followers(author) > self._shape.merge_at_read_above else INBOX
        turn = self._posts.put(change, author, mode)
        if turn.was == turn.now == DEAD:
            return
        one = self._changed(changed, self._names[author])
        if turn.was != DEAD:
            (one.gone_outbox if turn.was == OUTBOX else one.gone).append(turn.old_number)
        if turn.now != DEAD:
            (one.new_outbox if turn.now == OUTBOX else one.new).append(turn.row)

    def _ask(self, batch: Batch, changed: dict[str, _Author]) -> None:
        for request in batch.refills:
            for name in request.authors:
                if name not in self._authors:
                    continue
                if request.outbox:
                    self._changed(changed, name).outbox_refills.add(request.timeline_partition)
                else:
                    self._changed(changed, name).refills[request.timeline_partition].append(request.reader)

    def _tell(self, batch: Batch, changed: dict[str, _Author], stamp: Stamp) -> Outcome:
        partitions = [
            Records(partition=partition, **stamp._asdict()) for partition in range(self._shape.timeline_partitions)
        ]
        for name in sorted(changed):
            self._tell_of(changed[name], partitions)
        # Whole requests only: what they ask for stands before, in whatever part.
        for partition, requests in groupby(batch.refills, lambda one: one.timeline_partition):
            for request in requests:
                partitions[partition].refilled(request.reader, request.request)
        records = [(number, value) for number, one in enumerate(partitions) for value in one.finished()]
        return Outcome(records, sum(one.entries for one in partitions))

    def _tell_of(self, author: _Author, partitions: list[Records]) -> None:
        steady = self._follows.steady(author.number) if author.new or author.gone else NOBODY
        steadies, began, ended = self._parted(steady), self._parted(author.began), self._parted(author.ended)
        new, new_outbox = self._shown(author.new), self._shown(author.new_outbox)
        backfill = self._backfill(author.number, INBOX) if len(author.began) or author.refills else Newest([], False)
        shown = self._shown(backfill.rows)
        outbox = self._backfill(author.number, OUTBOX) if author.outbox_refills else Newest([], False)
        for number, records in enumerate(partitions):
            records.author(author.name)
            records.unfollowed(ended[number])
            records.withdrawn(author.gone, steadies[number])
            records.withdrawn(author.gone_outbox, NOBODY, outbox=True)
            records.followed(began[number])
            records.spread(new, steadies[number])
            records.spread(new_outbox, NOBODY, outbox=True)
            records.spread(shown, began[number], older_left_out=backfill.has_older)
            if number in author.refills:
                asked = np.unique(np.array(author.refills[number], np.uint64))
                readers = asked[self._follows.are_followers(author.number, asked)]
                records.spread(shown, readers, older_left_out=backfill.has_older)
            if number in author.outbox_refills:
                records.spread(self._shown(outbox.rows), NOBODY, outbox=True, older_left_out=outbox.has_older)

    def _backfill(self, author: int, mode: int) -> Newest:
        return self._posts.newest(author, mode, self._shape.backfill_max)

    def _shown(self, rows: list[int]) -> list[tuple[int, bytes]]:
        return [(self._posts.number(row), self._posts.payload(row)) for row in rows]

    def _parted(self, readers: Numbers) -> list[Numbers]:
        """By timeline partition: numbers in order are partitions in order."""
        if not len(readers):
            return [NOBODY] * len(self._starts)
        return np.split(readers, np.searchsorted(readers, self._starts[1:]))

    def _changed(self, changed: dict[str, _Author], name: str) -> _Author:
        one = changed.get(name)
        if one is None:
            one = changed[name] = _Author(name, self._author(name))
        return one

    def _author(self, name: str) -> int:
        number = self._authors.setdefault(name, len(self._names))
        if number == len(self._names):
            self._names.append(name)
        return number

    def bundle(self) -> Bundle:
        """All of the state."""
        names, name_ends = texts([name.encode() for name in self._names])
        heads, head_ends = texts(self._places.heads)
        cuts, cut_ends = texts([self._posts_cut.position, self._follows_cut.position])
        return {
            "names": names, "name_ends": name_ends, "heads": heads, "head_ends": head_ends,
            "cut_times": np.array([self._posts_cut.time_us, self._follows_cut.time_us], np.int64),
            "cuts": cuts, "cut_ends": cut_ends,
            **below("posts", self._posts.bundle()),
            **below("follows", self._follows.bundle()),
        }  # fmt: skip

    @classmethod
    def of(cls, bundle: Bundle, shape: Shape) -> Shard:
        shard = cls(shape)
        shard._places = Places(split(bundle["heads"], bundle["head_ends"]))
        shard._names = [name.decode() for name in split(bundle["names"], bundle["name_ends"])]
        shard._authors = {name: number for number, name in enumerate(shard._names)}
        shard._posts = Posts.of(taken("posts", bundle), shard._places)
        shard._follows = Follows.of(taken("follows", bundle), shard._places)
        cuts = split(bundle["cuts"], bundle["cut_ends"])
        shard._posts_cut, shard._follows_cut = map(Cut, bundle["cut_times"].tolist(), cuts)
        return shard
