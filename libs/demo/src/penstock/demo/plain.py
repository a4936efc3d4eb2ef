"""The view without a terminal: a few lines every few seconds."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from penstock.demo import texts
from penstock.demo.hops import hops, latency_text, timelines_text
from penstock.demo.scene import Scene, changes_text, joins_text

Write = Callable[[str], None]


class PlainView:
    every_s = 5.0

    def __init__(self, write: Write) -> None:
        self._write = write
        self._told: str | None = None

    def show(self, scene: Scene) -> None:
        if scene.ending is None:
            self._write("".join(f"{line}\n" for line in plain_lines(scene)))
        elif scene.ending != self._told:  # the summary is about to say what comes of it
            self._told = scene.ending
            self._write(f"==> {scene.ending}\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


def plain_lines(scene: Scene) -> tuple[str, ...]:
    """Where things stand: times, joins, timelines, and the newest post that one user sees."""
    ledger, accuracy, joins = scene.ledger, scene.accuracy, scene.joins
    ours, peers = accuracy.ours.wrong_us, accuracy.peers.wrong_us
    _, enrichment, join, timeline = hops(scene)
    when = texts.elapsed(scene.elapsed_s)
    times = (
        f"{when}  {scene.rate.recent():,} events/s",
        f"acknowledged {ledger.acknowledged:,}",
        f"refused {ledger.refused:,}",
        f"answered in {texts.span(scene.tally.latency_us.quantile(0.5))}",
        f"time error p50 {texts.span(ours.quantile(0.5))}, p99 {texts.span(ours.quantile(0.99))}"
        f" (peers' formula {texts.span(peers.quantile(0.5))}, {texts.span(peers.quantile(0.99))})",
        f"truth in bound {texts.percent(accuracy.ours.coverage)}",
    )
    found = (
        f"enriched {ledger.enriched:,}",
        joins_text(scene),
        f"corrected {joins.corrections:,}",
        f"lag {enrichment.lag}",
        f"profiles: {changes_text(scene)}",
    )
    shown = (
        f"timelines: {timeline.rate} entries/s",
        timelines_text(scene),
        f"publish → timeline {latency_text(scene)}",
        f"join {join.takes}, lag {join.lag}",
        f"lag {timeline.lag}",
    )
    indent = " " * (len(when) + 2)
    return " · ".join(times), indent + " · ".join(found), indent + " · ".join(shown), indent + _newest(scene)


def _newest(scene: Scene) -> str:
    onlooker = scene.onlooker
    counts = f"{len(onlooker):,} posts, {onlooker.came:,} came, {onlooker.went:,} went"
    newest = onlooker.top
    said = "" if newest is None else f"; {newest.author}: {texts.printable(newest.attributes.get('text', ''))}"
    return f"timeline of {onlooker.user}: {counts}{said}"
