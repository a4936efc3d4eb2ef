"""What goes into a table and what comes out: changes, answers, and what a change did.

In:  `RowChange` messages, read by `change_of`.
Out: `Change` for the table; `Found` and `Applied` from it.
Pure values. Versions are ordered by time first and position second, as penstock.events.v1.RowVersion says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

from penstock.tables.v1.row_change_pb2 import RowChange

# Numbers of penstock.tables.v1.Op.
UPSERT: Final = 1
DELETE: Final = 2
TRUNCATE: Final = 3

BEGINNING_US: Final = -(2**63)
FOREVER_US: Final = 2**63 - 1

# The size of a position is kept in two bytes, a record's place in eight: two for the partition, six for the offset.
POSITION_BYTES_MAX: Final = 65_535
PARTITION_MAX: Final = 65_535
OFFSET_BITS: Final = 48
OFFSET_MAX: Final = (1 << OFFSET_BITS) - 1
VERSIONS_MAX: Final = 10_000


class BadChangeError(ValueError):
    """A change that no table can take. Our own steps write the log, so this is a bug upstream and says where."""


class Version(NamedTuple):
    """Which of two changes counts: the greater."""

    valid_from_us: int
    position: bytes


class Change(NamedTuple):
    """A change of one row, or for TRUNCATE of all rows that are older than its version."""

    key: str
    op: int
    columns: Mapping[str, str]
    unknown: Sequence[str]
    version: Version
    from_snapshot: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """How much of the past is kept: versions per row, and how long after the next one took a version's place."""

    versions_max: int
    age_us_max: int

    def __post_init__(self) -> None:
        if not 1 <= self.versions_max <= VERSIONS_MAX:
            raise ValueError(f"versions_max is {self.versions_max}; it should be 1 to {VERSIONS_MAX}")
        if self.age_us_max < 0:
            raise ValueError(f"age_us_max is {self.age_us_max}; it should be 0 or more")


class Status(IntEnum):
    """What a question found; numbers of penstock.events.v1.EnrichmentStatus."""

    MATCHED = 1
    MISSING = 2
    DELETED = 3
    HISTORY_EVICTED = 4


class Found(NamedTuple):
    """The answer to a question. Without a version, partition and offset are -1."""

    status: Status
    columns: Mapping[str, str]
    unknown: tuple[str, ...]
    version: Version | None
    partition: int
    offset: int


class Applied(NamedTuple):
    """What a change did: answers for from_us <= t < until_us may differ from before. Equal ends: none does.

    That an old version was evicted is no change of an answer: what was said of the past stays said.
    """

    changed: bool
    key: str | None  # None: all keys
    from_us: int
    until_us: int

    def affects(self, key: str, t_us: int) -> bool:
        """Whether the answer for this key and time may be another one now."""
        return self.from_us <= t_us < self.until_us and (self.key is None or self.key == key)


def change_of(message: RowChange) -> Change:
    """Read a message, and refuse what no table can take."""
    key, op, version = message.key, message.op, message.version
    position = version.position
    if not UPSERT <= op <= TRUNCATE or not (key or op == TRUNCATE) or len(position) > POSITION_BYTES_MAX:
        raise BadChangeError(f"a change of table '{message.table}', key '{key}', {_fault(op, key)}")
    return Change(
        key,
        op,
        dict(message.columns),
        message.unknown_columns,
        Version(version.valid_from_us, position),
        message.from_snapshot,
    )


def _fault(op: int, key: str) -> str:
    if not UPSERT <= op <= TRUNCATE:
        return f"has op {op}, which this release does not know"
    if not key:
        return "has no key"
    return f"has a version.position of more than {POSITION_BYTES_MAX} bytes"
