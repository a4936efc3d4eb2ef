"""Reads the enriched log: what penstock makes of the events in the end.

In:  records of events.enriched.v1, committed ones only. Out: the ledger, the joins, the sightings and how fresh events
     are when they can be read, kept up to date.
Events of people at a second terminal are shown, and not judged; those of the demo itself neither.
"""

from collections.abc import Callable
from dataclasses import dataclass

from penstock.demo.histogram import Histogram
from penstock.demo.joins import STATUS_TEXTS, Joins
from penstock.demo.ledger import Identity, Ledger
from penstock.demo.population import is_guest, is_ours
from penstock.demo.sightings import Sighting, Sightings
from penstock.events.v1.event_pb2 import ENRICHMENT_STATUS_MATCHED, Enrichment, Event

ENRICHED = "events.enriched.v1"
UNJOINED = "–"


@dataclass
class EnrichedObserver:
    """`fresh_us`: from when ingestion had received an event until it could be read here, as first emitted."""

    ledger: Ledger
    joins: Joins
    sightings: Sightings
    fresh_us: Histogram
    now_us: Callable[[], int]

    def take(self, record: bytes) -> None:
        """One record of the log."""
        event = Event.FromString(record)
        now_us, ours, guest = self.now_us(), is_ours(event.device_id), is_guest(event.device_id)
        if ours or guest:
            self._show(event, is_guest=guest, now_us=now_us)
        if not ours:
            return
        identity = Identity(event.device_id, event.boot_id, event.seq)
        if event.revision == 0:
            self.ledger.enrich(identity)
            self.fresh_us.add(now_us - event.clock.received_us)
        self.joins.take(identity, event)

    def _show(self, event: Event, *, is_guest: bool, now_us: int) -> None:
        if (event.enrichments or is_guest) and self.sightings.may_take(
            revision=event.revision, is_guest=is_guest, now_us=now_us
        ):
            self.sightings.offer(sighting_of(event, is_guest=is_guest), now_us)


def sighting_of(event: Event, *, is_guest: bool) -> Sighting:
    clock = event.clock
    bound_us = clock.error_bound_us if clock.HasField("error_bound_us") else None
    joined = "; ".join(_joined(one) for one in event.enrichments) or UNJOINED
    return Sighting(clock.corrected_us, bound_us, event.occurred.wall_us, event.type, joined, event.revision, is_guest)


def _joined(one: Enrichment) -> str:
    if one.status == ENRICHMENT_STATUS_MATCHED:
        return f"{one.key}: {', '.join(value for _, value in sorted(one.columns.items(), reverse=True))}"
    return f"{one.key}: {STATUS_TEXTS.get(one.status, 'unknown')}"
