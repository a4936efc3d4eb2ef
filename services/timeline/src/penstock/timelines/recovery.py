"""Where a replica begins: at a snapshot that can be trusted and that the log continues, or at the log's beginning.

In:  what the log holds, the folder of snapshots, what a snapshot must be of.
Out: the partitions that are ours, each with the offset to go on at; why snapshots were not taken.
Guaranteed: a snapshot only saves time. The newest one that is whole, of these timelines, and continued by the log is
taken; else the whole log is read; and where the log no longer has its beginning, RefusedStartError.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock.timelines import snapshot
from penstock.timelines.errors import RefusedStartError
from penstock.timelines.held import Held
from penstock.timelines.log import gone
from penstock.timelines.snapshot import Origin, Refused
from penstock.timelines.store import Image, Partition, Shape

logger = logging.getLogger(__name__)

Span = tuple[int, int]  # first and end offset


@dataclass
class Recovery:
    """`folder` is None where no snapshots are kept. `salt`: a number that strangers do not know (see the store)."""

    folder: Path | None
    shape: Shape
    salt: int
    refused: list[str] = field(default_factory=list)  # reasons

    def recover(self, origins: Iterable[Origin], spans: Mapping[int, Span]) -> list[Held]:
        return [self._recover(origin, spans[origin.partition]) for origin in origins]

    def _recover(self, origin: Origin, span: Span) -> Held:
        place, first, needed = f"{origin.topic}[{origin.partition}]", span[0], "from offset 0 on"
        for path in paths(self.folder, origin):
            loaded = self._load(path, origin)
            if isinstance(loaded, Refused):
                if not loaded.missing:
                    self._refuse(loaded.reason)
                continue
            if loaded.next_offset > span[1]:
                self._refuse(f"{path} is ahead of the log: it ends at {loaded.next_offset}, {place} at {span[1]}")
            elif loaded.next_offset < first:
                needed = f"from offset {loaded.next_offset} on, where the snapshot {path} ends"
                break  # the one before ends even earlier
            else:
                return Held(loaded, origin, loaded.next_offset)
        if first > 0:
            raise RefusedStartError(gone(place, f"{needed}, but begins at offset {first}"))
        return Held(Partition(origin.partition, self.shape, self.salt), origin, 0)

    def _load(self, path: Path, origin: Origin) -> Partition | Refused:
        content = snapshot.load(path, origin)
        if isinstance(content, Refused):
            return content
        try:
            image = Image(origin.image_format, content.meta, content.arrays)
            return Partition.restore(image, self.shape, self.salt)
        except (ValueError, KeyError, IndexError) as error:  # whole, but not what this release wrote
            return Refused(f"{path} cannot be understood: {error}")

    def _refuse(self, reason: str) -> None:
        self.refused.append(reason)
        logger.warning("a snapshot is not used: %s", reason)


def paths(folder: Path | None, origin: Origin) -> list[Path]:
    """The newest snapshot's and the one's before it."""
    if folder is None:
        return []
    newest = folder / f"{origin.topic}.{origin.partition}.snapshot"
    return [newest, snapshot.previous(newest)]
