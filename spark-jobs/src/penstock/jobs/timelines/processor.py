"""Hosts shards in Spark: one per grouping key, its state in Spark's own checkpoint, and decoded in the worker.

In:  the records of a micro-batch, by shard. Out: Delivery records as rows.
State of a shard, in the state store: an *image* of it, in pieces; a *log* of the batches since; and a *head* that says
what of both counts. Writing a batch to the log costs what the batch is worth, not what the shard is; when the log has
grown as large as the image, a new image is written.

A worker keeps the shards it has seen, decoded. Its copy is good if its nonce is the one in the head; if it is behind,
the log brings it up to date; else it is read anew. Each attempt at a batch has a nonce of its own, so that a copy that
an attempt made which was never committed is never taken for the state.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd
from penstock.delivery.rows import Rows
from penstock.jobs.timelines.bundle import packed, unpacked
from penstock.jobs.timelines.changes import Batch, Reader, batch_of, bundle_of
from penstock.jobs.timelines.shard import Outcome, Shape, Shard, Stamp
from penstock.pipeline import Pipeline
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

logger = logging.getLogger(__name__)

HEAD = (
    "epoch bigint, batch bigint, version bigint, base bigint, nonce bigint,"
    " pieces int, image_bytes bigint, log_bytes bigint"
)
PIECE_BYTES = 1 << 20
IMAGE_AFTER_BYTES = 4 << 20  # of log, however small the image is
IMAGE_AFTER_BATCHES = 500
OUTPUT = "timeline_partition int, value binary, entries bigint, unreadable bigint"
OUTPUT_BYTES = 32 << 20  # in one frame


class Head(NamedTuple):
    """What counts. `version` is how many batches changed the state; those after `base` are in the log."""

    epoch: int
    batch: int = 0
    version: int = 0
    base: int = 0
    nonce: int = 0
    pieces: int = 0
    image_bytes: int = 0
    log_bytes: int = 0


class Copy(NamedTuple):
    """A shard as a worker has it."""

    version: int
    nonce: int
    shard: Shard


_copies: dict[tuple[str, int], Copy] = {}  # of this worker process, by query and shard


@dataclass(frozen=True)
class Settings:
    """What every worker must know."""

    query: str  # names the checkpoint: copies of one are never taken for another's
    pipeline: Pipeline
    shape: Shape
    epoch: int  # of shards that begin now


class JoinProcessor(StatefulProcessor):
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._reader = Reader(Rows(self._settings.pipeline))
        self._head = handle.getValueState("head", HEAD)
        self._image = handle.getMapState("image", "piece int", "bytes binary")
        self._log = handle.getMapState("log", "version bigint", "before bigint, bytes binary")

    def close(self) -> None:
        """Nothing is held beyond the worker's copies."""

    def handleInputRows(  # noqa: N802 -- Spark's name
        self,
        key: tuple[Any, ...],
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803, ARG002 -- Spark's
    ) -> Iterator[pd.DataFrame]:
        shard_number = int(key[0])
        stored = self._head.get()
        head = Head(*stored) if stored is not None else Head(self._settings.epoch)
        shard = self._shard(shard_number, head)
        batch = self._reader.batch(_records(rows))
        head = head._replace(batch=head.batch + 1)
        outcome = shard.apply(batch, Stamp(shard_number, head.epoch, head.batch))
        if batch.changes_state:
            head = self._keep(batch, shard, head)
        self._head.update(head)
        _copies[self._settings.query, shard_number] = Copy(head.version, head.nonce, shard)
        if batch.unreadable:
            logger.error("shard %d: %d records cannot be understood and were left out", shard_number, batch.unreadable)
        yield from _frames(outcome, batch.unreadable)

    def _shard(self, number: int, head: Head) -> Shard:
        """Taken out of the copies, so that one that an exception leaves half changed is never used again."""
        copy = _copies.pop((self._settings.query, number), None)
        if head.version == 0:
            return Shard(self._settings.shape)
        if copy is not None and (copy.version, copy.nonce) == (head.version, head.nonce):
            return copy.shard
        if copy is not None and head.base <= copy.version < head.version:
            entry = self._log.getValue((copy.version + 1,))
            if entry is not None and entry[0] == copy.nonce:
                return self._replayed(copy.shard, copy.version, head.version)
        shard = Shard(self._settings.shape)
        if head.pieces:
            image = b"".join(_there(self._image.getValue((piece,)))[0] for piece in range(head.pieces))
            shard = Shard.of(unpacked(image), self._settings.shape)
        return self._replayed(shard, head.base, head.version)

    def _replayed(self, shard: Shard, version: int, until: int) -> Shard:
        for number in range(version + 1, until + 1):
            shard.replay(batch_of(unpacked(_there(self._log.getValue((number,)))[1])))
        return shard

    def _keep(self, batch: Batch, shard: Shard, head: Head) -> Head:
        """Writes the batch, or instead of it a new image if the log has become long."""
        version, nonce = head.version + 1, secrets.randbits(62) + 1
        data = packed(bundle_of(batch))
        log_bytes = head.log_bytes + len(data)
        if log_bytes < max(IMAGE_AFTER_BYTES, head.image_bytes) and version - head.base < IMAGE_AFTER_BATCHES:
            self._log.updateValue((version,), (head.nonce, data))
            return head._replace(version=version, nonce=nonce, log_bytes=log_bytes)
        image = packed(shard.bundle())
        pieces = -(-len(image) // PIECE_BYTES)
        for piece in range(pieces):
            self._image.updateValue((piece,), (image[piece * PIECE_BYTES : (piece + 1) * PIECE_BYTES],))
        for piece in range(pieces, head.pieces):
            self._image.removeKey((piece,))
        for number in range(head.base + 1, head.version + 1):
            self._log.removeKey((number,))
        return head._replace(
            version=version, base=version, nonce=nonce, pieces=pieces, image_bytes=len(image), log_bytes=0
        )


def _there(stored: tuple[Any, ...] | None) -> tuple[Any, ...]:
    assert stored is not None, "the head of a shard speaks of what its state store does not have"
    return stored


def _records(frames: Iterator[pd.DataFrame]) -> Iterator[tuple[int, bytes | None]]:
    for frame in frames:
        yield from zip(frame["kind"].tolist(), frame["value"].tolist(), strict=True)


def _frames(outcome: Outcome, unreadable: int) -> Iterator[pd.DataFrame]:
    """The last row has no record, only counts."""
    rows: list[tuple[int, bytes | None, int, int]] = []
    size = 0
    for partition, value in outcome.records:
        rows.append((partition, value, 0, 0))
        size += len(value)
        if size > OUTPUT_BYTES:
            yield _frame(rows)
            rows, size = [], 0
    rows.append((0, None, outcome.entries, unreadable))
    yield _frame(rows)


def _frame(rows: list[tuple[int, bytes | None, int, int]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["timeline_partition", "value", "entries", "unreadable"])
