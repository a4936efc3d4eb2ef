"""What the services say of themselves: how fast they are, how far behind, how much they hold.

In:  the text of a metrics endpoint, once a second. Out: the gauges that the view shows.
"""

import asyncio
import contextlib
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException

from penstock.demo.tally import Rate
from prometheus_client.parser import text_string_to_metric_families

EVERY_S = 1.0
_TIMEOUT_S = 5.0
_JOB = "timelines"


class Samples:
    """What one answer says."""

    def __init__(self, text: str) -> None:
        self._samples = [one for family in text_string_to_metric_families(text) for one in family.samples]

    def values(self, name: str, **labels: str) -> list[float]:
        """Of all series of this name that have these labels, and any others."""
        return [one.value for one in self._samples if one.name == name and labels.items() <= one.labels.items()]

    def total(self, name: str, **labels: str) -> int | None:
        """None: there is no such series."""
        values = self.values(name, **labels)
        return int(sum(values)) if values else None

    def greatest(self, name: str, **labels: str) -> float | None:
        return max(self.values(name, **labels), default=None)


@dataclass
class EnrichmentGauges:
    """None: not known yet."""

    table: str
    lag_records: int | None = None
    lag_s: float | None = None
    rows: int | None = None

    def read(self, samples: Samples) -> None:
        self.lag_records = samples.total("penstock_enrichment_lag_records")
        self.lag_s = samples.greatest("penstock_enrichment_lag_seconds")
        self.rows = samples.total("penstock_enrichment_table_rows", table=self.table)


@dataclass
class JoinGauges:
    """`batch_s`: how long the last batch took; `rate`: records read. `behind`: records of the logs that deliveries do
    not reflect yet, which others find out, because the metric is as old as the last batch."""

    batch_s: float | None = None
    behind: int | None = None
    rate: Rate = field(default_factory=Rate)

    def read(self, samples: Samples) -> None:
        self.batch_s = samples.greatest("penstock_jobs_batch_phase_seconds", query=_JOB, phase="triggerExecution")
        self.rate.sample(samples.total("penstock_jobs_input_rows_total", query=_JOB) or 0)


@dataclass
class TimelineGauges:
    """`rate`: entries that came into timelines; `outgoing`: those that left them; `fresh_s`: how old the newest
    deliveries were, on average, when readers could see them."""

    lag_records: int | None = None
    lag_s: float | None = None
    users: int | None = None
    entries: int | None = None
    posts: int | None = None
    refilling: int | None = None
    refilled: int | None = None
    fresh_s: float | None = None
    added: int = 0
    removed: int = 0
    rate: Rate = field(default_factory=Rate)
    outgoing: Rate = field(default_factory=Rate)
    _shown: tuple[float, float] = (0.0, 0.0)  # deliveries, and the sum of their ages

    def read(self, samples: Samples) -> None:
        self.lag_records = samples.total("penstock_timeline_lag_records")
        self.lag_s = samples.greatest("penstock_timeline_lag_seconds")
        self.users = samples.total("penstock_timeline_users")
        self.entries = samples.total("penstock_timeline_inbox_entries")
        self.posts = samples.total("penstock_timeline_posts")
        self.refilling = samples.total("penstock_timeline_refilling")
        self.refilled = samples.total("penstock_timeline_refills_total", outcome="answered")
        self.added = samples.total("penstock_timeline_entries_total", change="added") or 0
        self.removed = samples.total("penstock_timeline_entries_total", change="removed") or 0
        self.rate.sample(self.added)
        self.outgoing.sample(self.removed)
        self._read_freshness(samples)

    def _read_freshness(self, samples: Samples) -> None:
        name = "penstock_timeline_freshness_seconds"
        shown = (sum(samples.values(f"{name}_count")), sum(samples.values(f"{name}_sum")))
        if shown[0] > self._shown[0]:
            self.fresh_s = (shown[1] - self._shown[1]) / (shown[0] - self._shown[0])
            self._shown = shown


async def follow(url: str, read: Callable[[Samples], None]) -> None:
    """For ever. An answer that does not come in time changes nothing: whether the service lives is not told here."""
    while True:
        with contextlib.suppress(OSError, HTTPException):
            read(Samples(await asyncio.to_thread(_fetch, url)))
        await asyncio.sleep(EVERY_S)


def _fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
        text: str = answer.read().decode()
    return text
