"""The view without a terminal: two lines every few seconds."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from penstock.demo import texts
from penstock.demo.scene import Scene, changes_text, joins_text, lag_text

Write = Callable[[str], None]


class PlainView:
    every_s = 5.0

    def __init__(self, write: Write) -> None:
        self._write = write

    def show(self, scene: Scene) -> None:
        if scene.ending is None:  # the summary is about to say the same
            self._write("".join(f"{line}\n" for line in plain_lines(scene)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


def plain_lines(scene: Scene) -> tuple[str, str]:
    """Where things stand: times, and joins."""
    ledger, accuracy, joins = scene.ledger, scene.accuracy, scene.joins
    ours, peers = accuracy.ours.wrong_us, accuracy.peers.wrong_us
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
        f"{'':{len(when)}}  enriched {ledger.enriched:,}",
        joins_text(scene),
        f"corrected {joins.corrections:,}",
        f"lag {lag_text(scene)}",
        f"profiles: {changes_text(scene)}",
    )
    return " · ".join(times), " · ".join(found)
