"""What enrichment says of itself: how far behind it is, and how much its tables hold.

In:  the text of its metrics endpoint, once a second. Out: the gauges that the view shows.
"""

import asyncio
import contextlib
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException

from prometheus_client.parser import text_string_to_metric_families

EVERY_S = 1.0
_TIMEOUT_S = 5.0
_PREFIX = "penstock_enrichment_"


@dataclass
class Gauges:
    """None: not known yet."""

    lag_records: int | None = None
    lag_s: float | None = None
    rows: int | None = None
    versions: int | None = None

    def read(self, text: str, table: str) -> None:
        """Takes over what is there of it."""
        of_table = {"table": table}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name == f"{_PREFIX}lag_seconds":
                    self.lag_s = sample.value
                elif sample.name == f"{_PREFIX}table_rows" and sample.labels == of_table:
                    self.rows = int(sample.value)
                elif sample.name == f"{_PREFIX}table_versions" and sample.labels == of_table:
                    self.versions = int(sample.value)
            if family.name == f"{_PREFIX}lag_records":
                self.lag_records = int(sum(sample.value for sample in family.samples))

    async def follow(self, url: str, table: str) -> None:
        """For ever. An answer that does not come in time changes nothing: whether enrichment lives is not told here."""
        while True:
            with contextlib.suppress(OSError, HTTPException):
                self.read(await asyncio.to_thread(_fetch, url), table)
            await asyncio.sleep(EVERY_S)


def _fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
        text: str = answer.read().decode()
    return text
