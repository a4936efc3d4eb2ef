"""The live view: one screen, from 80 columns and 24 lines up.

In:  the scene, four times a second. Out: the terminal's alternate screen; what was there before comes back at the end.
"""

from types import TracebackType
from typing import Self

from penstock.demo import texts
from penstock.demo.scene import ERROR_HEADINGS, Scene, error_rows
from penstock.demo.sightings import Sighting
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

_SPARKLINE = 30
_MARGIN = 1
_LABEL = 14


class LiveView:
    every_s = 0.25

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, screen=True, auto_refresh=False)

    def show(self, scene: Scene) -> None:
        self._live.update(picture(scene, self._console.height), refresh=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()


def picture(scene: Scene, height: int) -> RenderableType:
    """The whole screen; the tail of events gets the lines that are left."""
    errors, facts, hints = _errors(scene), _facts(scene), _hints(scene)
    used = 1 + 1 + len(facts) + 1 + (1 + errors.row_count) + 1 + 1 + len(hints)  # title, blanks and headings included
    tail = _tail(scene, max(1, height - used))
    return Group(_title(scene), Text(), *facts, Text(), errors, Text(), tail, *hints)


def _title(scene: Scene) -> RenderableType:
    line = Table.grid(expand=True)
    line.add_column()
    line.add_column(justify="right")
    left = Text.assemble((" penstock demo ", "bold reverse"), f"  {scene.devices:,} devices  {scene.time_text}")
    ending = "handing in what is left …" if scene.is_ending else "Ctrl-C ends it"
    line.add_row(left, Text(f"{ending} ", "yellow" if scene.is_ending else "dim"))
    return line


def _facts(scene: Scene) -> list[Text]:
    ledger, tally = scene.ledger, scene.tally
    bars = texts.sparkline(list(scene.rate.per_second), _SPARKLINE)
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in tally.refused.most_common(3))
    failed = sum(tally.failed.values())
    latency = f"{texts.span(tally.latency_us.quantile(0.5))} (p99 {texts.span(tally.latency_us.quantile(0.99))})"
    lost = tally.requests_lost + tally.replies_lost
    return [
        _fact("events/s", (f"{scene.rate.recent():,}  ", "bold"), (bars, "cyan")),
        _fact(
            "acknowledged",
            (f"{ledger.acknowledged:,}", "bold green"),
            f" · read from the log {ledger.in_log:,} · twice in it {ledger.copies_in_log:,}",
        ),
        _fact("refused", (f"{ledger.refused:,}", "yellow"), f" · {reasons}" if reasons else ""),
        _fact(
            "sent again",
            f"{tally.duplicates:,} events, recognised as duplicates",
            (f" · {failed:,} calls failed", "red") if failed else "",
        ),
        _fact("services", ("● ", "green"), "Kafka   ", ("● ", "green"), f"ingestion, answers in {latency}"),
        _fact(
            "meanwhile",
            f"{tally.stalled:,} stalls · {lost:,} lost · {tally.offline_now:,} offline",
            f" · {tally.clocks_set:,} clocks set",
        ),
    ]


def _fact(label: str, *parts: str | tuple[str, str]) -> Text:
    line = Text.assemble((f"{'':{_MARGIN}}{label:<{_LABEL}}", "dim"), *parts)
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def _errors(scene: Scene) -> Table:
    table = _table()
    for heading in ERROR_HEADINGS:
        first = heading is ERROR_HEADINGS.name
        table.add_column(heading, justify="left" if first else "right", no_wrap=True, min_width=24 if first else 7)
    for row in error_rows(scene.accuracy):
        style = "bold green" if row.name == "penstock" else "red" if row.name.startswith("peers") else ""
        table.add_row(*row, style=style)
    return table


def _tail(scene: Scene, lines: int) -> RenderableType:
    table = _table()
    for heading in ("from the log (UTC)", "true within", "the device claimed", "event", "device"):
        table.add_column(heading, no_wrap=True, min_width=10)
    for sighting in list(scene.sightings.newest)[-lines:]:
        table.add_row(*_cells(sighting), style="bold magenta" if sighting.is_guest else "")
    for _ in range(lines - len(scene.sightings.newest)):
        table.add_row("")
    return table


def _cells(sighting: Sighting) -> tuple[str, ...]:
    return (
        texts.clock_time(sighting.corrected_us),
        texts.bound(sighting.bound_us),
        texts.claimed_time(sighting.claimed_us, sighting.corrected_us),
        sighting.type,
        sighting.device_id,
    )


def _hints(scene: Scene) -> list[Text]:
    lines = [Text(" in a second terminal:", "dim"), *(Text(f" {hint}") for hint in scene.hints)]
    for line in lines:
        line.no_wrap, line.overflow = True, "crop"
    return lines


def _table() -> Table:
    return Table(box=None, pad_edge=True, padding=(0, 0, 0, 1), header_style="dim", expand=False)
