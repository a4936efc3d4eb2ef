"""Everything there is to show, for whichever view shows it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.clock import Method
from penstock.demo import texts
from penstock.demo.accuracy import Accuracy, Errors
from penstock.demo.audit import Audit
from penstock.demo.gauges import EnrichmentGauges, JoinGauges, TimelineGauges
from penstock.demo.histogram import Histogram
from penstock.demo.joins import TABLE, Joins
from penstock.demo.ledger import Ledger
from penstock.demo.live_timeline import LiveTimeline
from penstock.demo.probe import Probe
from penstock.demo.profiles import Kind
from penstock.demo.sightings import Sightings
from penstock.demo.society import ONLOOKER
from penstock.demo.stack import Stack
from penstock.demo.tally import Rate, Tally
from penstock.demo.truth import Truth
from penstock.pipeline import Pipeline

METHOD_TEXTS = {
    Method.ECHO: "clock tokens",
    Method.ONE_WAY: "no tokens",
    Method.NAIVE: "first contact",
    Method.RECEIVED: "no usable clock",
}


@dataclass
class Scene:
    """`command`: how the penstock command is called from here."""

    devices: int
    duration_s: float | None
    stack: Stack
    command: str
    pipeline: Pipeline
    truth: Truth
    joins: Joins
    ledger: Ledger = field(default_factory=Ledger)
    accuracy: Accuracy = field(default_factory=Accuracy)
    sightings: Sightings = field(default_factory=Sightings)
    tally: Tally = field(default_factory=Tally)
    rate: Rate = field(default_factory=Rate)
    enriched_rate: Rate = field(default_factory=Rate)
    enrichment: EnrichmentGauges = field(default_factory=lambda: EnrichmentGauges(TABLE))
    join: JoinGauges = field(default_factory=JoinGauges)
    timeline: TimelineGauges = field(default_factory=TimelineGauges)
    probe: Probe = field(default_factory=Probe)
    onlooker: LiveTimeline = field(default_factory=lambda: LiveTimeline(ONLOOKER))
    # From when ingestion had received an event until it could be read from the enriched log.
    fresh_us: Histogram = field(default_factory=Histogram)
    elapsed_s: float = 0.0
    # What is being done at the end; None while time goes on.
    ending: str | None = None
    # False: the log could not be read to its end, and what is missing from it may be there.
    is_log_read: bool = True
    is_enriched_log_read: bool = True
    # At the end: rows that were compared with the database's, and those that differ. None: they could not be.
    rows_compared: int = 0
    rows_differing: int | None = None
    # At the end: whether the join and the timelines had come to the end of the logs when all was computed again.
    are_timelines_caught_up: bool = True
    audit: Audit | None = None

    @property
    def time_text(self) -> str:
        """For example 00:17 of 00:30."""
        now = texts.elapsed(self.elapsed_s)
        return now if self.duration_s is None else f"{now} of {texts.elapsed(self.duration_s)}"

    @property
    def hints(self) -> tuple[str, ...]:
        """What to type in a second terminal; the best first."""
        ingestion, timeline = self.stack.ingestion.address, self.stack.timeline.address
        return (
            f"{self.command} timeline {ONLOOKER} --follow --server {timeline}",
            f"{self.command} post u1 'Hello, you' --server {ingestion}",
            f"{self.command} follow {ONLOOKER} u2 --server {ingestion}",
            f"{self.command} tail events.enriched.v1 --bootstrap {self.stack.bootstrap}",
            f"{self.command} lookup profiles u1 --server {self.stack.enrichment.address}",
        )


def joins_text(scene: Scene) -> str:
    """For example matched 13,020 · missing 311."""
    return " · ".join(f"{status} {texts.count(count)}" for status, count in scene.joins.by_status.items())


def changes_text(scene: Scene) -> str:
    """For example 44 updates, 9 inserts, 8 deletes."""
    changes = scene.truth.changes
    kinds = (Kind.UPDATE, Kind.INSERT, Kind.DELETE)
    return ", ".join(f"{changes[kind]:,} {kind.value.lower()}{'s' * (changes[kind] != 1)}" for kind in kinds)


class ErrorRow(NamedTuple):
    """One line of the table of errors, as text."""

    name: str
    events: str
    p50: str
    p99: str
    worst: str
    bound: str
    within: str


ERROR_HEADINGS = ErrorRow("error against the truth", "events", "p50", "p99", "worst", "bound", "in bound")


def error_rows(accuracy: Accuracy, *, by_method: bool = True) -> Iterator[ErrorRow]:
    """Ours, ours by method, the peers', the device's own."""
    yield _error_row("penstock", accuracy.ours)
    for method, errors in accuracy.by_method.items():
        if errors.wrong_us.count and by_method:
            yield _error_row(f"  {METHOD_TEXTS[method]}", errors)
    yield _error_row("peers: + received − sent", accuracy.peers)
    yield _error_row("the device's own clock", accuracy.device)


def _error_row(name: str, errors: Errors) -> ErrorRow:
    wrong_us, some = errors.wrong_us, errors.wrong_us.count > 0
    return ErrorRow(
        name,
        f"{wrong_us.count:,}",
        texts.span(wrong_us.quantile(0.50)),
        texts.span(wrong_us.quantile(0.99)),
        texts.span(wrong_us.greatest if some else None),
        f"± {texts.span(errors.bound_us.quantile(0.50))}" if errors.bound_us.count else "none",
        texts.percent(errors.coverage),
    )
