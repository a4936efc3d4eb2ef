"""Turns the clock benchmark's numbers into tables on screen and into docs/clock.md.

In:  a `Run`. Out: plain text, and a page whose prose lives in clock_page.md beside this file.
"""

from dataclasses import dataclass
from math import floor
from pathlib import Path
from string import Template

from clock_methods import METHODS, MIDDLE, MIN_OF_8, NO_TOKENS, OURS, PEERS, SETTINGS, STEADY, WALL
from penstock.simulation import Scenario


@dataclass(frozen=True)
class Summary:
    """How one method did in one scenario."""

    events: int
    p50_ms: float
    p99_ms: float
    bounded_pct: float
    coverage_pct: float | None
    bound_p50_ms: float | None
    inversions_per_device: float
    # Error (ms) against the share of events (%) that are wrong by more.
    tail: list[tuple[float, float]]


@dataclass(frozen=True)
class Run:
    """One run of the benchmark."""

    devices: int
    seed: int
    scenarios: tuple[Scenario, ...]
    # By scenario and method.
    summaries: dict[str, dict[str, Summary]]


def tables(run: Run) -> list[str]:
    """The tables as plain text."""
    return [_plain(title, rows) for title, rows in _all(run)]


def write_page(path: Path, run: Run) -> None:
    """Writes the page that explains the method, with the measured tables in it."""
    text = Template((Path(__file__).parent / "clock_page.md").read_text(encoding="utf-8"))
    names = ("errors", "bounds", "order")
    filled = {name: _markdown(rows) for name, (_, rows) in zip(names, _all(run), strict=True)}
    stalls, offline = run.summaries["stalls"], run.summaries["offline days"]
    peers, wall, steady = (stalls[name] for name in (PEERS, WALL, STEADY))
    path.write_text(
        text.substitute(
            filled,
            devices=run.devices,
            seed=run.seed,
            requests=run.scenarios[0].requests,
            events=f"{sum(summary[PEERS].events for summary in run.summaries.values()):,}",
            scenarios="\n".join(f"- **{scenario.name}**: {scenario.what}" for scenario in run.scenarios),
            drift=SETTINGS.drift_ppm_max,
            skew=_time(SETTINGS.server_skew_us / 1000),
            late=_time(SETTINGS.late_us / 1000),
            p99_peers=_time(peers.p99_ms),
            p99_ours=_time(wall.p99_ms),
            bound_wall=_time(wall.bound_p50_ms),
            bound_steady=_time(steady.bound_p50_ms),
            stale=_time(SETTINGS.stale_us_max / 1000),
            middle_offline=_time(offline[MIDDLE].p50_ms),
            point_offline=_time(offline[WALL].p50_ms),
            **_where_others_win(run),
        ),
        encoding="utf-8",
    )


def _where_others_win(run: Run) -> dict[str, str]:
    """Numbers for the paragraph that says so."""
    pairs = [(summary[MIN_OF_8], summary[NO_TOKENS]) for summary in run.summaries.values()]
    p50_ms = [ours.p50_ms - least.p50_ms for least, ours in pairs if least.p50_ms < ours.p50_ms]
    p99_ms = [ours.p99_ms - least.p99_ms for least, ours in pairs if least.p99_ms < ours.p99_ms]
    sets, offline, stale = (run.summaries[name] for name in ("sets", "offline days", "stale resends"))
    return {
        "count": str(len(pairs)),
        "least_p50_count": str(len(p50_ms)),
        "least_p50_by": _time(max(p50_ms, default=0)),
        "least_p99_count": str(len(p99_ms)),
        "least_p99_by": _time(max(p99_ms, default=0)),
        "least_sets": _time(sets[MIN_OF_8].p99_ms),
        "no_tokens_sets": _time(sets[NO_TOKENS].p99_ms),
        "no_tokens_offline": _time(offline[NO_TOKENS].p99_ms),
        "wall_offline": _time(offline[WALL].p99_ms),
        "wall_stale": _time(stale[WALL].p99_ms),
        "middle_stale": _time(stale[MIDDLE].p99_ms),
        "wall_order": f"{sets[WALL].inversions_per_device:.2f}",
    }


def _all(run: Run) -> list[tuple[str, list[list[str]]]]:
    names = [scenario.name for scenario in run.scenarios]
    errors = [["p50 / p99 of the error", *names]]
    order = [["per device", *names]]
    for method in METHODS:
        found = [run.summaries[name][method] for name in names]
        errors.append([method, *(f"{_time(it.p50_ms)} / {_time(it.p99_ms)}" for it in found)])
        order.append([method, *(f"{it.inversions_per_device:.2f}" for it in found)])
    bounds = [["covered / with a bound / median bound", *names]]
    for method in OURS:
        found = [run.summaries[name][method] for name in names]
        bounds.append([method, *(_bound(it) for it in found)])
    title = f"{run.devices} devices per scenario, seed {run.seed}"
    return [
        (f"How wrong is a time? {title}", errors),
        ("Does the bound hold?", bounds),
        ("How often is an event put before the one it followed?", order),
    ]


def _bound(summary: Summary) -> str:
    if summary.coverage_pct is None:
        return "no bound"
    covered = floor(summary.coverage_pct * 1000) / 1000  # never shown as more than it is
    return f"{covered:g} % / {summary.bounded_pct:.1f} % / ±{_time(summary.bound_p50_ms)}"


def _time(ms: float | None) -> str:
    """A duration as people write it."""
    if ms is None:
        return "none"
    for size, unit in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if ms >= size:
            return f"{ms / size:.3g} {unit}" if ms < 1000 * size else f"{ms / size:.0f} {unit}"
    return f"{ms:.1f} ms" if ms < 10 else f"{ms:.0f} ms"


def _plain(title: str, rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([title, "", lines[0], "-" * max(map(len, lines)), *lines[1:]])


def _markdown(rows: list[list[str]]) -> str:
    head, *body = [[cell.strip() for cell in row] for row in rows]
    ours = {name.strip() for name in OURS}
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, *cells in body:
        lines.append("| " + " | ".join([f"**{name}**" if name in ours else name, *cells]) + " |")
    return "\n".join(lines)
