"""The live view: one screen, from 80 columns and 24 lines up.

In:  the scene, four times a second. Out: the terminal's alternate screen; what was there before comes back at the end.
"""

from types import TracebackType
from typing import Self

from penstock.demo import texts
from penstock.demo.scene import ERROR_HEADINGS, Scene, changes_text, error_rows, joins_text, lag_text
from penstock.demo.sightings import Sighting
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

_SPARKLINE = 20
_MARGIN = 1
_LABEL = 14
# From so many lines on there is room for the errors of each method.
_TALL = 30


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
    errors, facts, hints = _errors(scene, by_method=height >= _TALL), _facts(scene), _hints(scene)
    used = 1 + 1 + len(facts) + 1 + (1 + errors.row_count) + 1 + 1 + len(hints)  # title, blanks and headings included
    tail = _tail(scene, max(1, height - used))
    return Group(_title(scene), Text(), *facts, Text(), errors, Text(), tail, *hints)


def _title(scene: Scene) -> RenderableType:
    line = Table.grid(expand=True)
    line.add_column()
    line.add_column(justify="right")
    left = Text.assemble((" penstock demo ", "bold reverse"), f"  {scene.devices:,} devices  {scene.time_text}")
    line.add_row(left, Text(f"{scene.ending or 'Ctrl-C ends it'} ", "yellow" if scene.ending else "dim"))
    return line


def _facts(scene: Scene) -> list[Text]:
    return [*_ingestion_facts(scene), *_enrichment_facts(scene)]


def _ingestion_facts(scene: Scene) -> list[Text]:
    ledger, tally = scene.ledger, scene.tally
    bars = texts.sparkline(list(scene.rate.per_second), _SPARKLINE)
    failed = sum(tally.failed.values())
    lost = tally.requests_lost + tally.replies_lost
    return [
        _fact(
            "events/s",
            (f"{scene.rate.recent():,}  ", "bold"),
            (bars, "cyan"),
            f"  answers in {texts.span(tally.latency_us.quantile(0.5))}",
            (f" · {failed:,} failed", "red") if failed else "",
        ),
        _fact(
            "acknowledged",
            (f"{ledger.acknowledged:,}", "bold green"),
            f" · refused {ledger.refused:,} · sent again {tally.duplicates:,}",
        ),
        _fact(
            "meanwhile",
            f"stalls {tally.stalled:,} · lost {lost:,} · offline {tally.offline_now:,}",
            f" · clocks set {tally.clocks_set:,}",
        ),
    ]


def _enrichment_facts(scene: Scene) -> list[Text]:
    ledger, joins, fresh_us = scene.ledger, scene.joins, scene.fresh_us
    rows = texts.NOTHING if scene.gauges.rows is None else f"{scene.gauges.rows:,}"
    return [
        _fact(
            "enriched",
            (f"{ledger.enriched:,}", "bold green"),
            (f" · {ledger.doubled:,} twice" if ledger.doubled else " · none twice", "red" if ledger.doubled else ""),
            f" · {texts.span(fresh_us.quantile(0.5))} after receipt (p99 {texts.span(fresh_us.quantile(0.99))})",
        ),
        _fact("joins", joins_text(scene).replace("history ", "")),
        _fact(
            "corrected",
            (f"{joins.corrections:,}", "yellow"),
            f" · to be corrected {joins.wrong:,} · lag {lag_text(scene)}",
        ),
        _fact("profiles", f"{rows} rows · {changes_text(scene)}"),
        _fact("newest SQL", f"{scene.truth.newest or texts.NOTHING}"),
    ]


def _fact(label: str, *parts: str | tuple[str, str]) -> Text:
    line = Text.assemble((f"{'':{_MARGIN}}{label:<{_LABEL}}", "dim"), *parts)
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def _errors(scene: Scene, *, by_method: bool) -> Table:
    table = _table()
    for heading in ERROR_HEADINGS:
        first = heading is ERROR_HEADINGS.name
        table.add_column(heading, justify="left" if first else "right", no_wrap=True, min_width=24 if first else 7)
    for row in error_rows(scene.accuracy, by_method=by_method):
        style = "bold green" if row.name == "penstock" else "red" if row.name.startswith("peers") else ""
        table.add_row(*row, style=style)
    return table


def _tail(scene: Scene, lines: int) -> RenderableType:
    table = _table()
    for heading in ("time (UTC)", "within", "device's claim", "enriched event", "joined with"):
        table.add_column(heading, no_wrap=True, min_width=9)
    for sighting in list(scene.sightings.newest)[-lines:]:
        table.add_row(*_cells(sighting), style=_style(sighting))
    for _ in range(lines - len(scene.sightings.newest)):
        table.add_row("")
    return table


def _cells(sighting: Sighting) -> tuple[str, ...]:
    return (
        texts.clock_time(sighting.corrected_us),
        texts.bound(sighting.bound_us),
        texts.claimed_time(sighting.claimed_us, sighting.corrected_us),
        sighting.type,
        f"{sighting.joined} (rev {sighting.revision})" if sighting.revision else sighting.joined,
    )


def _style(sighting: Sighting) -> str:
    if sighting.is_guest:
        return "bold magenta"
    return "yellow" if sighting.revision else ""


def _hints(scene: Scene) -> list[Text]:
    lines = [Text(" in a second terminal:", "dim"), *(Text(f" {hint}") for hint in scene.hints)]
    for line in lines:
        line.no_wrap, line.overflow = True, "crop"
    return lines


def _table() -> Table:
    return Table(box=None, pad_edge=True, padding=(0, 0, 0, 1), header_style="dim", expand=False)
