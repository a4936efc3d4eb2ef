"""The view without a terminal: one line every few seconds."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from penstock.demo import texts
from penstock.demo.scene import Scene

Write = Callable[[str], None]


class PlainView:
    every_s = 5.0

    def __init__(self, write: Write) -> None:
        self._write = write

    def show(self, scene: Scene) -> None:
        if not scene.is_ending:  # the summary is about to say the same
            self._write(f"{plain_line(scene)}\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


def plain_line(scene: Scene) -> str:
    """Where things stand."""
    ledger, accuracy = scene.ledger, scene.accuracy
    ours, peers = accuracy.ours.wrong_us, accuracy.peers.wrong_us
    parts = (
        f"{texts.elapsed(scene.elapsed_s)}  {scene.rate.recent():,} events/s",
        f"acknowledged {ledger.acknowledged:,}",
        f"refused {ledger.refused:,}",
        f"answered in {texts.span(scene.tally.latency_us.quantile(0.5))}",
        f"time error p50 {texts.span(ours.quantile(0.5))}, p99 {texts.span(ours.quantile(0.99))}"
        f" (peers' formula {texts.span(peers.quantile(0.5))}, {texts.span(peers.quantile(0.99))})",
        f"truth in bound {texts.percent(accuracy.ours.coverage)}",
    )
    return " · ".join(parts)
