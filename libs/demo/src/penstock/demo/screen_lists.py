"""The lists of the live view: one user's timeline, and a few of the enriched events."""

from penstock.demo import texts
from penstock.demo.live_timeline import Line, State
from penstock.demo.scene import Scene
from penstock.demo.sightings import Sighting, Sightings
from rich.table import Table
from rich.text import Text

_MARKS = {State.NEW: "+", State.GONE: "−", State.THERE: " "}
_STYLES = {State.NEW: "bold green", State.GONE: "red strike", State.THERE: ""}
_TEXT_MAX = 200
_FOREVER_US = 1 << 62


def plain_table() -> Table:
    return Table(box=None, pad_edge=True, padding=(0, 0, 0, 1), header_style="dim", expand=False)


def timeline_table(scene: Scene, lines: int, now_us: int) -> Table:
    """The newest first: what has just come is marked, and what has just gone."""
    onlooker = scene.onlooker
    table = plain_table()
    table.add_column("", no_wrap=True, width=1)
    table.add_column("age", no_wrap=True, justify="right", min_width=6)
    table.add_column("within", no_wrap=True, min_width=8)
    table.add_column("author", no_wrap=True, min_width=10)
    counts = f"{len(onlooker):,} posts · {onlooker.came:,} came · {onlooker.went:,} went"
    table.add_column(f"timeline of {onlooker.user}: {counts}", no_wrap=True, overflow="ellipsis")
    shown = onlooker.newest(lines, now_us)
    for line in shown:
        table.add_row(*_timeline_cells(scene, line, now_us), style=_STYLES[line.state])
    for _ in range(lines - len(shown)):
        table.add_row("")
    return table


def _timeline_cells(scene: Scene, line: Line, now_us: int) -> tuple[str | Text, ...]:
    post = line.post
    name = scene.truth.as_of(post.author, _FOREVER_US).columns.get("name", "")
    text = texts.cut(texts.printable(post.attributes.get("text", "")), _TEXT_MAX)
    return (
        Text(_MARKS[line.state], "not strike"),
        texts.span(max(0, now_us - post.time_us)),
        texts.bound(post.error_bound_us),
        Text(texts.cut(f"{texts.printable(post.author)} {name}".rstrip(), 16)),
        Text(text),
    )


def enriched_table(sightings: Sightings, lines: int) -> Table:
    """The newest last."""
    table = plain_table()
    for heading in ("time (UTC)", "within", "device's claim", "enriched event", "joined with"):
        table.add_column(heading, no_wrap=True, min_width=9)
    for sighting in list(sightings.newest)[-lines:]:
        table.add_row(*_enriched_cells(sighting), style=_enriched_style(sighting))
    for _ in range(lines - len(sightings.newest)):
        table.add_row("")
    return table


def _enriched_cells(sighting: Sighting) -> tuple[str, ...]:
    return (
        texts.clock_time(sighting.corrected_us),
        texts.bound(sighting.bound_us),
        texts.claimed_time(sighting.claimed_us, sighting.corrected_us),
        sighting.type,
        f"{sighting.joined} (rev {sighting.revision})" if sighting.revision else sighting.joined,
    )


def _enriched_style(sighting: Sighting) -> str:
    if sighting.is_guest:
        return "bold magenta"
    return "yellow" if sighting.revision else ""
