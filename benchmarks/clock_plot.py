"""Draws the clock benchmark: docs/clock.png.

In:  a `Run`. Out: two panels. Left, how many events are wrong by more than so much when requests stall; right, the
p99 of the error in every scenario.
"""

from pathlib import Path

import matplotlib
from clock_methods import DEVICE, MIN_OF_8, NO_TOKENS, PEERS, RECEIVED, STEADY, WALL
from clock_report import Run
from matplotlib.axes import Axes
from matplotlib.figure import Figure

_STYLES = {
    DEVICE: ("#b9b9b9", "-"),
    RECEIVED: ("#8a8a8a", "--"),
    PEERS: ("#d1495b", "-"),
    MIN_OF_8: ("#edae49", "-"),
    NO_TOKENS: ("#7fb7d6", "-"),
    WALL: ("#1f6f9f", "-"),
    STEADY: ("#0b3954", (0, (1, 1.5))),
}
_TICKS = {1: "1 ms", 10: "10 ms", 100: "0.1 s", 1e3: "1 s", 1e4: "10 s", 6e4: "1 min", 3.6e6: "1 h", 8.64e7: "1 d"}
_TICKS |= {3.15e10: "1 y"}


def write_plot(path: Path, run: Run) -> None:
    """Writes the picture."""
    matplotlib.use("Agg")
    figure = Figure(figsize=(12.5, 5.8), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.15])
    _draw_tails(left, run)
    _draw_scenarios(right, run)
    figure.suptitle("How wrong is the time of an event?", fontsize=15, fontweight="bold", x=0.01, ha="left")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(path)


def _draw_tails(axes: Axes, run: Run) -> None:
    for method, (colour, line) in _STYLES.items():
        at, share = zip(*run.summaries["stalls"][method].tail, strict=True)
        width = 2.4 if method.startswith("penstock") else 1.6
        axes.plot(at, share, linestyle=line, color=colour, label=method, linewidth=width)
    axes.axhline(1, color="#cccccc", linewidth=0.8, zorder=0)
    axes.text(0.12, 1.08, "one event in a hundred", fontsize=8, color="#777777", va="bottom")
    axes.set(yscale="log", ylim=(0.02, 100), ylabel="events that are wrong by more (%)")
    axes.set_yticks([100, 10, 1, 0.1], ["100", "10", "1", "0.1"])
    _error_axis(axes, least=0.1, most=3e5)
    axes.set_title("Scenario “stalls”: 3 % of requests stall for 10–30 s", fontsize=10.5, loc="left")


def _draw_scenarios(axes: Axes, run: Run) -> None:
    names = [scenario.name for scenario in run.scenarios]
    for row, name in enumerate(names):
        axes.axhspan(row - 0.42, row + 0.42, color="#f4f4f4", zorder=0)
        for place, (method, (colour, _)) in enumerate(_STYLES.items()):
            ours = method.startswith("penstock")
            axes.scatter(
                run.summaries[name][method].p99_ms,
                row + (place - (len(_STYLES) - 1) / 2) * 0.11,
                s=46 if ours else 26,
                color=colour,
                marker="D" if method == STEADY else "o",
                zorder=3,
            )
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.invert_yaxis()
    _error_axis(axes, least=10, most=6e10)
    axes.set_title("p99 of the error, by scenario", fontsize=10.5, loc="left")


def _error_axis(axes: Axes, least: float, most: float) -> None:
    axes.set(xscale="log", xlim=(least, most), xlabel="error")
    shown = {at: text for at, text in _TICKS.items() if least <= at <= most}
    axes.set_xticks(list(shown), list(shown.values()), fontsize=8.5)
    axes.minorticks_off()
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
