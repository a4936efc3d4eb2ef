"""Decides when a partition is saved, and has it written beside everything else.

In:  the partitions, after each round of the applier; the time.
Out: snapshots in the folder. The image is a copy made by the applier's thread, which is the only writer, so that
     readers do not wait; a thread of its own writes it. One image exists at a time.
A snapshot that cannot be written is reported and tried again later: until then the next start replays more.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import monotonic

from penstock.timelines import recovery, snapshot
from penstock.timelines.failpoints import Failpoint, no_failpoint
from penstock.timelines.held import Held, Holdings
from penstock.timelines.metrics import Metrics
from penstock.timelines.snapshot import Content, Origin
from penstock.timelines.store import Image

logger = logging.getLogger(__name__)


class Saving:
    """`folder` is None where no snapshots are kept."""

    def __init__(
        self,
        folder: Path | None,
        metrics: Metrics,
        *,
        entries: int,
        age_s: float,
        failpoint: Failpoint = no_failpoint,
    ) -> None:
        self._folder = folder
        self._metrics = metrics
        self._entries = entries
        self._age_s = age_s
        self._failpoint = failpoint
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="snapshot")
        self._writing: tuple[Held, Future[bool]] | None = None

    def look(self, holdings: Holdings, now: float) -> None:
        """Begins to save the partition that needs it most, if one does and none is being saved."""
        if self._folder is None or (self._writing is not None and not self._writing[1].done()):
            return
        self._settle()
        due = [held for held in holdings if self._is_due(held, now)]
        if due:
            self._save(max(due, key=lambda held: (held.changed_since_save, now - held.saved_at)), now)

    def finish(self, holdings: Holdings, now: float) -> None:
        """The last snapshots: of all that has changed. Returns when they are written."""
        if self._folder is None:
            return
        self._settle()
        for held in holdings:
            if held.records_since_save:
                self._save(held, now)
                self._settle()
        self._writer.shutdown()

    def _is_due(self, held: Held, now: float) -> bool:
        if held.changed_since_save >= self._entries:
            return True
        return held.records_since_save > 0 and now - held.saved_at >= self._age_s

    def _settle(self) -> None:
        """Waits for the one under way. One that could not be written is due again after a while."""
        if self._writing is not None:
            held, written = self._writing
            self._writing = None
            if not written.result():
                held.records_since_save += 1

    def _save(self, held: Held, now: float) -> None:
        image, position = held.partition.image(), held.partition.next_offset
        self._failpoint("image_taken")
        held.changed_since_save = held.records_since_save = 0
        held.saved_at = now
        self._writing = held, self._writer.submit(self._write, image, held.origin, position)

    def _write(self, image: Image, origin: Origin, position: int) -> bool:
        began = monotonic()
        path = recovery.paths(self._folder, origin)[0]
        try:
            size = snapshot.write(path, Content(image.meta, image.arrays), origin, self._failpoint)
        except OSError as error:
            self._metrics.snapshots.labels("failed").inc()
            logger.error("no snapshot of partition %d was written: %s", origin.partition, error)  # noqa: TRY400
            return False
        took_s = monotonic() - began
        self._metrics.snapshots.labels("written").inc()
        self._metrics.snapshot_seconds.observe(took_s)
        self._metrics.snapshot_offset.labels(str(origin.partition)).set(position)
        logger.info(
            "partition %d is saved up to offset %d: %d bytes in %.2f s", origin.partition, position, size, took_s
        )
        return True
