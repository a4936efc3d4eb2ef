"""When a table was emptied.

In:  the versions of truncates, in any order.
Out: the truncate that a moment lies behind. A truncate deletes every row version below its own, so that no row has to
     be touched for it, and an older change that arrives later stays deleted.
Guaranteed: a function of the set of truncates. The greatest `kept_max` are kept; `evicted` says whether there were
more, and then nothing can be said of times before the oldest kept one.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable

from penstock.enrichment.tables.change import FOREVER_US, Version


class Truncates:
    def __init__(self, kept_max: int, known: Iterable[tuple[Version, int]] = (), evicted: bool = False) -> None:
        self._kept_max = kept_max
        self._source_of = dict(known)
        self.versions = sorted(self._source_of)
        self.evicted = evicted

    def __bool__(self) -> bool:
        return bool(self.versions)

    @property
    def newest(self) -> Version | None:
        return self.versions[-1] if self.versions else None

    def add(self, version: Version, source: int) -> bool:
        """Whether it is news. Of two records that say the same, the first in the log is the source."""
        if version in self._source_of:
            self._source_of[version] = min(source, self._source_of[version])
            return False
        before = self.evicted, self.newest
        insort(self.versions, version)
        self._source_of[version] = source
        if len(self.versions) > self._kept_max:
            self.evicted = True
            oldest = self.versions.pop(0)
            del self._source_of[oldest]
            return version != oldest or before != (self.evicted, self.newest)
        return True

    def source(self, version: Version) -> int:
        return self._source_of[version]

    def at(self, t_us: int) -> Version | None:
        """The last one at or before a time."""
        index = bisect_right(self.versions, t_us, key=lambda version: version.valid_from_us)
        return self.versions[index - 1] if index else None

    def after(self, version: Version) -> int:
        """When the first one above a version was; FOREVER_US if none."""
        index = bisect_right(self.versions, version)
        return self.versions[index].valid_from_us if index < len(self.versions) else FOREVER_US

    def between(self, older: Version, newer: Version) -> bool:
        """Whether one deleted the older and not the newer. A row of a truncate's own version came after it."""
        return bisect_right(self.versions, newer) > bisect_right(self.versions, older)

    def unsure_at(self, t_us: int) -> bool:
        """Whether a truncate that is no longer known may lie before this time, and none that is known does."""
        return self.evicted and t_us < self.versions[0].valid_from_us
