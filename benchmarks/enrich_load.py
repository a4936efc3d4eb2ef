"""A write load for look-ups to be measured under: changes of rows and raw batches, at a steady pace, from a thread.

In:  a log to write to, raw batches, rows. Out: about 2,000 changes and 10,000 events per second, until it is closed.
A change is valid from now on, so the events, which are older, need no correction.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from enrich_data import changed, is_gone
from enrich_log import Log, Record
from enrich_ours import PROFILES, RAW

STEP_S = 0.05
CHANGES_PER_STEP = 100
VERSIONS = range(3, 250)


class WriteLoad:
    def __init__(self, bootstrap: str, batches: list[Record], rows: int) -> None:
        self._log = Log(bootstrap)
        self._batches = iter(batches)
        self._rows = rows
        self._stopping = threading.Event()
        self._failed: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, name="write load")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Writes what is left of the batches, so that what must come out does not depend on when this happened."""
        self._stopping.set()
        self._thread.join()
        if self._failed:
            raise self._failed[0]
        self._log.write(RAW, self._batches)
        self._log.close()

    def _run(self) -> None:
        try:
            due = time.monotonic()
            for step in self._changes():
                self._log.write(PROFILES, step)
                batch = next(self._batches, None)
                self._log.write(RAW, [] if batch is None else [batch])
                due += STEP_S
                if self._stopping.wait(max(0.0, due - time.monotonic())):
                    return
        except SystemExit as error:
            self._failed.append(error)

    def _changes(self) -> Iterator[list[Record]]:
        alive = [number for number in range(self._rows) if not is_gone(number)]
        for version in VERSIONS:
            for first in range(0, len(alive), CHANGES_PER_STEP):
                now_us = time.time_ns() // 1000
                some = (changed(number, version, now_us) for number in alive[first : first + CHANGES_PER_STEP])
                yield [Record(change.key.encode(), change.SerializeToString()) for change in some]
