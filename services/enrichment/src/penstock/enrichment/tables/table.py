"""One table in memory: every row, each with its versions, as of any time that its history reaches back to.

In:  changes, in any order, any number of times, each with its place in the table's log.
Out: the row valid at a time, or why there is none; of each change, which answers it may have changed.
Pure: no clock (age is counted back from the newest change), no Kafka. One thread.

Guaranteed:
- Content, answers and content hash are functions of the *set* of changes applied and of the history that is kept:
  order, duplicates, restarts and the moment at which memory is given back make no difference. (Two changes that
  claim one version but differ are a fault of the source; the greater one wins as long as that version is kept.)
- What was evicted answers HISTORY_EVICTED, never a guess. So does a time before a row that is known from a database
  snapshot only, because such a row may be older than it looks.
- A column whose value the source did not give has the value of the version before, where that is known and neither
  a delete nor a truncate lies between; else it is unknown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, KeysView
from itertools import islice
from struct import Struct
from typing import Final

from penstock.enrichment.tables.answers import MISSING, Answers
from penstock.enrichment.tables.bodies import BODY, Bodies, pack_body, source_of
from penstock.enrichment.tables.census import Census
from penstock.enrichment.tables.change import (
    BEGINNING_US,
    DELETE,
    FOREVER_US,
    OFFSET_BITS,
    OFFSET_MAX,
    TRUNCATE,
    Applied,
    Change,
    Found,
    History,
    Status,
    Version,
)
from penstock.enrichment.tables.effects import NOTHING, Effects
from penstock.enrichment.tables.hashing import content_hash
from penstock.enrichment.tables.image import Image, empty
from penstock.enrichment.tables.shapes import Shapes, read_shape
from penstock.enrichment.tables.truncates import Truncates
from penstock.enrichment.tables.versions import (
    COUNT,
    EVICTED,
    Row,
    appended,
    count_of,
    directory,
    evict,
    first_kept,
    place,
    unpack,
)

# A row of one version, which most are, is read in one step: count, time and size as in `Row`, then as in BODY.
_SINGLE: Final = Struct("<HqIQHH")
_SINGLE_BODY: Final = _SINGLE.size - BODY.size
# Naming a member of an enum, and a NamedTuple's own constructor, would take a third of the time of an answer.
_MATCHED: Final = Status.MATCHED
_tuple: Final = tuple.__new__


class Table:
    def __init__(self, name: str, history: History) -> None:
        self._take(empty(name, history))

    @classmethod
    def restored(cls, image: Image) -> Table:
        """The table as it was when `image()` was called."""
        table = cls.__new__(cls)
        table._take(image)
        return table

    def _take(self, image: Image) -> None:
        self.name = image.name
        self.history = image.history
        self._versions_max = image.history.versions_max
        self._newest_us = image.newest_us
        self._horizon_us = image.horizon_us
        self._shapes = Shapes([read_shape(text) for text in image.shapes])
        self._truncates = Truncates(self._versions_max, image.truncates, image.truncates_evicted)
        self._plain = self._shapes.plain
        self._packed = dict(image.rows)
        self._sweep: Iterator[str] = iter(())
        self._bodies = Bodies(self._shapes)
        self._answers = Answers(self._versions_max, self._bodies, self._truncates)
        self._effects = Effects(self._bodies, self._truncates)
        self._census = Census(self._packed, self._bodies, self._truncates)

    def apply(self, change: Change, partition: int, offset: int) -> Applied:
        """Take a change in. Partition and offset say where it stands in the table's log."""
        key, op, columns, unknown, version, from_snapshot = change
        source = source_of(partition, offset)
        valid_from_us, position = version
        if valid_from_us > self._newest_us:
            self._newest_us = valid_from_us
            self._horizon_us = valid_from_us - self.history.age_us_max
        if op == TRUNCATE:
            return self._truncate(version, source)
        deleted = op == DELETE
        if deleted:  # what a source says of a row that is gone is not to be relied on
            columns, unknown = {}, ()
        number, values = self._shapes.pack(deleted, from_snapshot, columns, unknown)
        if packed := self._packed.get(key):
            return self._grow(packed, key, version, pack_body(source, number, position, values))
        size = BODY.size + len(position) + len(values)
        packed = _SINGLE.pack(1, valid_from_us, size, source, number, len(position)) + position + values
        self._packed[key] = packed
        self._census.add(key, packed)
        # Behind a truncate, a row that had never been there is now one that was deleted: so the end is open.
        return Applied(True, key, BEGINNING_US if from_snapshot else valid_from_us, FOREVER_US)

    def as_of(self, key: str, t_us: int) -> Found:
        """The row as it was at a time. The usual row is read here, in few steps; `Answers` reads any."""
        packed = self._packed.get(key)
        if packed is None:
            return MISSING
        count, valid_from_us, size, source, number, position_size = _SINGLE.unpack_from(packed)
        begin = _SINGLE_BODY
        if count != 1:
            count &= ~EVICTED
            numbers = directory(count).unpack_from(packed, COUNT.size)
            index = bisect_right(numbers, t_us, 0, count) - 1
            is_kept = index == count - 1 or numbers[index + 1] > self._horizon_us
            if index < 0 or count > self._versions_max or not is_kept:
                return self._answers.find(packed, t_us, self._horizon_us)
            valid_from_us, size = numbers[index], numbers[count + index]
            begin = COUNT.size + 12 * count + sum(numbers[count : count + index])
            source, number, position_size = BODY.unpack_from(packed, begin)
        names = self._plain.get(number)
        if names is None or valid_from_us > t_us or self._truncates.versions:
            return self._answers.find(packed, t_us, self._horizon_us)
        middle = begin + BODY.size + position_size
        values = packed[middle : begin + size].decode().split("\0")
        if len(values) != len(names):  # one of them has a NUL in it
            return self._answers.find(packed, t_us, self._horizon_us)
        version = _tuple(Version, (valid_from_us, packed[begin + BODY.size : middle]))
        columns = dict(zip(names, values))  # noqa: B905  # equally long; saying so takes time
        return _tuple(Found, (_MATCHED, columns, (), version, source >> OFFSET_BITS, source & OFFSET_MAX))

    def newest(self, key: str) -> Found:
        """The row as it is now."""
        return self.as_of(key, FOREVER_US)

    def keys(self) -> KeysView[str]:
        """Every key that was ever seen; a deleted row stays, so that no late change can bring it back."""
        return self._packed.keys()

    @property
    def rows(self) -> int:
        """Rows that exist now: their newest version is neither a delete nor behind a truncate."""
        return self._census.rows

    @property
    def versions(self) -> int:
        """Versions in memory, deletes included."""
        return self._census.versions

    @property
    def memory_bytes(self) -> int:
        """Memory that the rows take, about."""
        return self._census.memory_bytes

    @property
    def newest_us(self) -> int | None:
        """The time of the newest change; None before the first one."""
        return None if self._newest_us == BEGINNING_US else self._newest_us

    def image(self) -> Image:
        """All of it as it is now, to be hashed or written elsewhere."""
        truncates = tuple((version, self._truncates.source(version)) for version in self._truncates.versions)
        shapes = tuple(shape.text for shape in self._shapes.known)
        packed = self._packed.copy()
        return Image(self.name, self.history, self._newest_us, shapes, truncates, self._truncates.evicted, packed)

    def content_hash(self) -> bytes:
        """Equal for tables of equal content; seconds for a million rows, so think of content_hash(table.image())."""
        return content_hash(self.image())

    def reclaim(self, rows_max: int | None = None) -> None:
        """Give back the memory of versions that aged out of rows which have not changed since.

        Looks at `rows_max` rows and goes on there the next time, round and round; None: at all of them.
        """
        if rows_max is None:
            self._sweep = iter(())
        keys = list(islice(self._sweep, rows_max))
        if not keys:
            self._sweep = iter(list(self._packed))
            keys = list(islice(self._sweep, rows_max))
        for key in keys:
            packed = self._packed[key]
            if count_of(packed) > 1:
                self._put(key, packed, self._cut(unpack(packed)).pack())

    def _grow(self, packed: bytes, key: str, version: Version, body: bytes) -> Applied:
        """Put a version into a row that is there."""
        valid_from_us = version.valid_from_us
        if by := self._append(packed, valid_from_us, body):
            self._put(key, packed, by)
            return Applied(True, key, valid_from_us, self._truncates.after(version))
        row = base = unpack(packed)
        index, known = place(row, *version)
        said_before = False
        if known:
            other = row.body(index)
            if not self._bodies.outranks(body, other):
                return Applied(False, key, *NOTHING)
            base, said_before = row.without(index), self._bodies.same(body, other)
        grown = base.insert(index, valid_from_us, body)
        if not self._put(key, packed, self._cut(grown).pack()) or said_before:
            return Applied(False, key, *NOTHING)
        first = first_kept(grown.times, self._versions_max, self._horizon_us)
        return Applied(True, key, *self._effects.of(row, grown, index, first))

    def _append(self, packed: bytes, valid_from_us: int, body: bytes) -> bytes | None:
        """The usual change, in few steps: a version newer than all. None where it is not that simple."""
        count = count_of(packed)
        numbers = directory(count).unpack_from(packed, COUNT.size)
        if valid_from_us <= numbers[count - 1]:
            return None
        first = first_kept((*numbers[:count], valid_from_us), self._versions_max, self._horizon_us)
        if first and self._has_unknown(packed, numbers, first, body):
            return None
        return appended(packed, numbers, valid_from_us, body, first)

    def _has_unknown(self, packed: bytes, numbers: tuple[int, ...], index: int, newest: bytes) -> bool:
        """Whether the version at an index leaves a column unknown, so that it needs a floor."""
        count = len(numbers) // 2
        if index < count:
            begin = len(packed) - sum(numbers[count + index :])
            newest = packed[begin : begin + numbers[count + index]]
        return bool(self._bodies.unknown(newest))

    def _cut(self, row: Row) -> Row:
        return evict(row, self._versions_max, self._horizon_us, self._bodies.unknown)

    def _put(self, key: str, packed: bytes, by: bytes) -> bool:
        """Whether this makes a difference."""
        if by == packed:
            return False
        self._packed[key] = by
        self._census.replace(packed, by)
        return True

    def _truncate(self, version: Version, source: int) -> Applied:
        newest = self._truncates.newest
        if not self._truncates.add(version, source):
            return Applied(False, None, *NOTHING)
        if self._truncates.newest != newest:
            self._census.recount()
        return Applied(True, None, version.valid_from_us, self._truncates.after(version))
