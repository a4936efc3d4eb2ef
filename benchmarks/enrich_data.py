"""What both contestants of bench-enrich get: a table with a past, events that need it, and what must come out.

In:  how many rows and events, and what time it is. Out: row changes, requests of devices, and the oracle's joins.
Pure, and the same for the same arguments. A third of the rows changed half an hour ago, one in fifty is gone since a
quarter of an hour; events happened within the last hour, one in a hundred by somebody whom the table does not know.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock.events.v1.event_pb2 import (
    ENRICHMENT_STATUS_DELETED,
    ENRICHMENT_STATUS_MATCHED,
    ENRICHMENT_STATUS_MISSING,
    EnrichmentStatus,
    Event,
)
from penstock.ingest.v1.ingest_pb2 import PublishRequest
from penstock.tables.v1.row_change_pb2 import Op, RowChange
from table_memory import key_of, message_of

SECOND_US = 1_000_000
BATCH = 500
DEVICES = 64
TEXT = "the quick brown fox jumps over the lazy dog"


@dataclass(frozen=True)
class Shape:
    """Events of one type of the social pipeline: which attribute is joined, and which columns it brings."""

    event_type: str
    on: str
    columns: tuple[str, ...]
    row_key: tuple[str, ...] = ()  # the attributes that name the row which such an event makes, if it makes one
    row_columns: tuple[str, ...] = ()

    def attributes(self, seq: int, rows: int) -> dict[str, str]:
        """Of the event with this number; about 160 bytes an event, as in bench-ingest."""
        user = f"nobody-{seq}" if seq % 100 == 0 else key_of(seq * 7_919 % rows)
        if self.row_key:
            return {"author": user, "post_id": f"post-{seq:012d}", "text": TEXT, "language": "en"}
        return {"user": user, "page": f"/posts/post-{seq:012d}", "session": f"session-{seq:08d}", "referrer": TEXT}


VIEWS = Shape("page.viewed", "user", ("country", "plan"))
POSTS = Shape("post.created", "author", ("name", "country"), ("author", "post_id"), ("text", "language"))
SHAPES = {"views": VIEWS, "posts": POSTS}


def is_gone(number: int) -> bool:
    return number % 50 == 1


def changes(rows: int, now_us: int) -> Iterator[RowChange]:
    """The log of the table."""
    for number in range(rows):
        yield changed(number, 0, now_us - 10 * 86_400 * SECOND_US)
    for number in range(0, rows, 3):
        yield changed(number, 1, now_us - 1_800 * SECOND_US)
    for number in filter(is_gone, range(rows)):
        gone = changed(number, 2, now_us - 900 * SECOND_US)
        gone.op = Op.OP_DELETE
        gone.columns.clear()
        yield gone


def changed(number: int, version: int, valid_from_us: int) -> RowChange:
    change = message_of(number, version)
    change.version.valid_from_us = valid_from_us
    return change


@dataclass(frozen=True)
class Row:
    """What a join finds. `columns` are all that the table has."""

    status: EnrichmentStatus.ValueType
    columns: dict[str, str]
    valid_from_us: int


MISSING = Row(ENRICHMENT_STATUS_MISSING, {}, 0)


class Oracle:
    """The table as a dict of sorted lists: slow to change, large, and easy to believe."""

    def __init__(self, log: Iterable[RowChange]) -> None:
        self.versions: dict[str, list[Row]] = {}
        for change in log:
            status = ENRICHMENT_STATUS_MATCHED if change.op == Op.OP_UPSERT else ENRICHMENT_STATUS_DELETED
            row = Row(status, dict(change.columns), change.version.valid_from_us)
            self.versions.setdefault(change.key, []).append(row)
        for versions in self.versions.values():
            versions.sort(key=lambda row: row.valid_from_us)

    def as_of(self, key: str, t_us: int) -> Row:
        versions = self.versions.get(key, [])
        index = bisect_right(versions, t_us, key=lambda row: row.valid_from_us)
        return versions[index - 1] if index else MISSING


def requests(shape: Shape, run: int, batches: int, rows: int, now_us: int) -> Iterator[bytes]:
    """What devices send: each numbers its events without gaps, and its clock runs with them through the hour."""
    per_device = -(-batches // DEVICES) * BATCH
    step_us = 3_600 * SECOND_US // per_device
    for number in range(batches):
        device = run * DEVICES + number % DEVICES
        request = PublishRequest(device_id=f"device-{device:06d}", boot_id=f"boot-{run}")
        first = number // DEVICES * BATCH
        for index in range(first, first + BATCH):
            # No two devices use the same number, so no two write the same post.
            event = Event(type=shape.event_type, seq=device * 1_000_000 + index + 1)
            event.occurred.wall_us = now_us - (per_device - index) * step_us
            event.attributes.update(shape.attributes(event.seq, rows))
            request.events.append(event)
        request.sent.wall_us = time.time_ns() // 1000
        yield request.SerializeToString()
