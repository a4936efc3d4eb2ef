"""`penstock timelines`: a grid on a terminal, lines of cells for programs.

In:  what each server says it holds.
Out: the partitions on stdout, and a last row for all of them; on stderr why it has no hash, if it should have one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import compress

from penstock.client.cli.partition_text import (
    HEADINGS,
    NUMBERS,
    partition_cells,
    partition_fields,
    partition_note,
    sum_cells,
    sum_fields,
)
from penstock.client.cli.screen import write_line
from penstock.client.timeline_state import TimelinesState
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

_ANY_WIDTH = 10_000
_SPARED = ("applied", "posts", "users", "memory")
"""Columns that a narrow terminal does without, the first ones first."""


def show(states: Mapping[str, TimelinesState], out: Console, notices: Console, *, as_json: bool) -> None:
    """By server, in the order asked."""
    said = list(states.values())
    if as_json:
        for server, state in states.items():
            for partition in state.partitions:
                write_line(out, json.dumps(partition_fields(server, partition)))
        write_line(out, json.dumps(sum_fields(said)))
    elif out.is_terminal:
        out.print(_fitting_grid(said, out))
    else:
        rows = [HEADINGS, *(partition_cells(one, shortened=False) for state in said for one in state.partitions)]
        for cells in (*rows, sum_cells(said, shortened=False)):
            write_line(out, "\t".join(cells))
    note = partition_note(said)
    if note:
        notices.print(note, style="yellow", markup=False)


def _fitting_grid(said: list[TimelinesState], out: Console) -> Table:
    """Without what nobody asked for; on a narrow terminal without what can be spared."""
    hashed = any(partition.content_hash for state in said for partition in state.partitions)
    hidden = [] if hashed else ["content"]
    grid = _grid(said, hidden)
    for spared in _SPARED:
        if Measurement.get(out, out.options.update(max_width=_ANY_WIDTH), grid).maximum <= out.width:
            break
        hidden.append(spared)
        grid = _grid(said, hidden)
    return grid


def _grid(said: list[TimelinesState], hidden: Sequence[str]) -> Table:
    grid = Table(box=None, header_style="bold")
    shown = [heading not in hidden for heading in HEADINGS]
    for heading in compress(HEADINGS, shown):
        grid.add_column(heading, justify="right" if heading in NUMBERS else "left", no_wrap=True)
    for state in said:
        for one in state.partitions:
            style = "yellow" if one.lag_records or one.refilling else ""
            grid.add_row(*compress(partition_cells(one, shortened=True), shown), style=style)
    grid.add_row(*compress(sum_cells(said, shortened=True), shown), style="bold")
    return grid
