"""The live view: one screen, from 80 columns and 24 lines up.

In:  the scene, four times a second. Out: the terminal's alternate screen; what was there before comes back at the end.
What matters most is on every screen: the hops, the errors of times, a timeline. The rest comes as there is room.
"""

import time
from contextlib import suppress
from types import TracebackType
from typing import Self

from penstock.demo import texts
from penstock.demo.hops import hops, latency_text, timelines_text
from penstock.demo.scene import ERROR_HEADINGS, Scene, changes_text, error_rows, joins_text
from penstock.demo.screen_lists import enriched_table, plain_table, timeline_table
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

_SPARKLINE = 20
_MARGIN = 1
_LABEL = 14
# From so many lines on there is room for more facts, and for the errors of each method.
_TALL, _VERY_TALL = 30, 44
# So many posts of the timeline before the enriched events get lines, which are useless if they are too few.
_POSTS_FIRST, _EVENTS_LEAST = 8, 4


class LiveView:
    every_s = 0.25

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, screen=True, auto_refresh=False)

    def show(self, scene: Scene) -> None:
        with suppress(OSError):  # the terminal is gone; the hang-up is about to end us
            self._show(scene)

    def _show(self, scene: Scene) -> None:
        self._live.update(picture(scene, self._console.height, time.time_ns() // 1000), refresh=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._live.stop()


def picture(scene: Scene, height: int, now_us: int) -> RenderableType:
    """The whole screen; the timeline and the tail of enriched events get the lines that are left."""
    errors = _errors(scene, by_method=height >= _VERY_TALL)
    head = [
        _title(scene),
        Text(),
        _hops(scene),
        _latency(scene),
        Text(),
        *_facts(scene, height),
        Text(),
        errors,
        Text(),
    ]
    hints = _hints(scene, height)
    used = sum(_lines(part) for part in head) + 1 + len(hints)  # the heading of the timeline included
    left = max(1, height - used)
    events = left - _POSTS_FIRST - 2  # a blank and a heading
    if events < _EVENTS_LEAST:
        return Group(*head, timeline_table(scene, left, now_us), *hints)
    posts = timeline_table(scene, _POSTS_FIRST, now_us)
    return Group(*head, posts, Text(), enriched_table(scene.sightings, events), *hints)


def _lines(part: RenderableType) -> int:
    return part.row_count + part.show_header if isinstance(part, Table) else 1


def _title(scene: Scene) -> RenderableType:
    line = Table.grid(expand=True)
    line.add_column()
    line.add_column(justify="right")
    left = Text.assemble((" penstock demo ", "bold reverse"), f"  {scene.devices:,} devices  {scene.time_text}")
    line.add_row(left, Text(f"{scene.ending or 'Ctrl-C ends it'} ", "yellow" if scene.ending else "dim"))
    return line


def _hops(scene: Scene) -> Table:
    table = plain_table()
    for heading, width in (("hop", _LABEL - 1), ("rate", 7), ("", 10), ("lag", 20), ("takes", 0)):
        table.add_column(heading, justify="right" if heading == "rate" else "left", no_wrap=True, min_width=width)
    for hop in hops(scene):
        table.add_row(Text(hop.name, "dim"), Text(hop.rate, "bold"), hop.unit, hop.lag, hop.takes)
    return table


def _latency(scene: Scene) -> Text:
    bars = texts.sparkline(list(scene.probe.newest_us), _SPARKLINE)
    return _fact("end to end", (latency_text(scene), "bold green"), "  ", (bars, "cyan"), "  publish to follower")


def _facts(scene: Scene, height: int) -> list[Text]:
    """The first ones first, where there is little room."""
    ledger, tally, joins = scene.ledger, scene.tally, scene.joins
    failed, lost = sum(tally.failed.values()), tally.requests_lost + tally.replies_lost
    rows = texts.NOTHING if scene.enrichment.rows is None else f"{scene.enrichment.rows:,}"
    facts = [
        _fact(
            "acknowledged",
            (texts.count(ledger.acknowledged), "bold green"),
            f" · refused {texts.count(ledger.refused)} · sent again {texts.count(tally.duplicates)}",
            (f" · {failed:,} failed", "red") if failed else "",
        ),
        _fact(
            "enriched",
            (texts.count(ledger.enriched), "bold green"),
            (f" · {ledger.doubled:,} twice" if ledger.doubled else " · none twice", "red" if ledger.doubled else ""),
            f" · corrected {joins.corrections:,} · to be corrected {joins.wrong:,}",
        ),
        _fact("timelines", timelines_text(scene)),
        _fact("joins", joins_text(scene).replace("history ", "")),
        _fact("profiles", f"{rows} rows · {changes_text(scene)}"),
        _fact(
            "meanwhile",
            f"stalls {tally.stalled:,} · lost {lost:,} · offline {tally.offline_now:,}",
            f" · clocks set {tally.clocks_set:,}",
        ),
        _fact("newest SQL", f"{scene.truth.newest or texts.NOTHING}"),
    ]
    return facts[: 3 if height < _TALL else 5 if height < _TALL + 4 else 7]


def _fact(label: str, *parts: str | tuple[str, str]) -> Text:
    line = Text.assemble((f"{'':{_MARGIN}}{label:<{_LABEL}}", "dim"), *parts)
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def _errors(scene: Scene, *, by_method: bool) -> Table:
    table = plain_table()
    for heading in ERROR_HEADINGS:
        first = heading is ERROR_HEADINGS.name
        table.add_column(heading, justify="left" if first else "right", no_wrap=True, min_width=24 if first else 7)
    for row in error_rows(scene.accuracy, by_method=by_method):
        style = "bold green" if row.name == "penstock" else "red" if row.name.startswith("peers") else ""
        table.add_row(*row, style=style)
    return table


def _hints(scene: Scene, height: int) -> list[Text]:
    lines = [Text(f" {hint}") for hint in scene.hints[:2]]
    if height >= _TALL:
        lines = [Text(" in a second terminal:", "dim"), *lines]
    for line in lines:
        line.no_wrap, line.overflow = True, "crop"
    return lines
