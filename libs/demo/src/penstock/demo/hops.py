"""The way of an event, hop by hop: how much passes, how far behind each hop is, how long it takes.

In:  the scene. Out: text, for whichever view shows it.
"""

from typing import NamedTuple

from penstock.demo import texts
from penstock.demo.scene import Scene

_LONG_S = 100.0
_BATCHES_S = 10  # records are counted when their batch is done


class Hop(NamedTuple):
    """One hop, as text: `rate` is a number of `unit`."""

    name: str
    rate: str
    unit: str
    lag: str
    takes: str


def hops(scene: Scene) -> tuple[Hop, ...]:
    """From the devices to the readers."""
    fresh_us, join, timeline = scene.fresh_us, scene.join, scene.timeline
    return (
        Hop(
            "ingestion",
            f"{scene.rate.recent():,}",
            "events/s",
            texts.NOTHING,
            f"answers in {texts.span(scene.tally.latency_us.quantile(0.5))}",
        ),
        Hop(
            "enrichment",
            f"{scene.enriched_rate.recent():,}",
            "events/s",
            lag_text(scene.enrichment.lag_records, scene.enrichment.lag_s),
            f"{texts.span(fresh_us.quantile(0.5))} (p99 {texts.span(fresh_us.quantile(0.99))})",
        ),
        Hop(
            "join",
            f"{join.rate.recent(_BATCHES_S):,}",
            "changes/s",
            lag_text(join.behind),
            f"batches of {_span_text(join.batch_s)}",
        ),
        Hop(
            "timeline",
            f"{timeline.rate.recent():,}",
            "entries/s",
            lag_text(timeline.lag_records, timeline.lag_s),
            f"shows it in {_span_text(timeline.fresh_s)}",
        ),
    )


def latency_text(scene: Scene) -> str:
    """For example 1.1 s (p99 1.9 s)."""
    latency_us = scene.probe.latency_us
    return f"{texts.span(latency_us.quantile(0.5))} (p99 {texts.span(latency_us.quantile(0.99))})"


def lag_text(records: int | None, seconds: float | None = None) -> str:
    """For example 12 records, 0.2 s."""
    if records is None:
        return texts.NOTHING
    text = f"{texts.count(records)} record{'s' * (records != 1)}"
    if seconds is None:
        return text
    return f"{text}, {seconds:.1f} s" if seconds < _LONG_S else f"{text}, {_span_text(seconds)}"


def timelines_text(scene: Scene) -> str:
    """For example 1,003 users · 153,002 entries, 120/s leave · refilled 31."""
    held = scene.timeline
    if held.users is None or held.entries is None:
        return texts.NOTHING
    refilled = texts.count(held.refilled or 0)
    leaving = held.outgoing.recent()
    return f"{held.users:,} users · {texts.count(held.entries)} entries, {leaving:,}/s leave · refilled {refilled}"


def _span_text(seconds: float | None) -> str:
    return texts.span(None if seconds is None else round(seconds * 1e6))
