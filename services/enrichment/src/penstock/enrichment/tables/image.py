"""All that a table is at one moment, as values that nothing changes any more.

In:  Table.image(), which copies one dict: rows are immutable, so they are shared.
Out: what snapshots are written from and hashes are computed from, on another thread while the table goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from penstock.enrichment.tables.change import BEGINNING_US, History, Version


class Image(NamedTuple):
    name: str
    history: History
    newest_us: int
    shapes: tuple[str, ...]  # by number, as Shape.text
    truncates: tuple[tuple[Version, int], ...]  # with their sources
    truncates_evicted: bool
    rows: Mapping[str, bytes]  # by key, as Row.pack() makes them

    @property
    def horizon_us(self) -> int:
        """Versions that had a successor by then are evicted."""
        return self.newest_us - self.history.age_us_max


def empty(name: str, history: History) -> Image:
    return Image(name, history, BEGINNING_US, (), (), False, {})
