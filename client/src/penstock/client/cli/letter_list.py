"""`penstock dead-letters list`: two lines per letter on a terminal, a line of cells for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import tzinfo

from penstock.client.cli.letters import HEADINGS, Letter, letter_cells, letter_fields
from penstock.client.cli.rendering import visible
from penstock.client.cli.screen import write_line
from penstock.client.cli.times import time_text
from rich.console import Console
from rich.text import Text


def show(letters: Sequence[Letter], out: Console, zone: tzinfo | None, *, as_json: bool) -> None:
    """Prints them in the order given."""
    if as_json:
        for letter in letters:
            write_line(out, json.dumps(letter_fields(letter)))
    elif out.is_terminal:
        for letter in letters:
            out.print(letter_text(letter, zone))
    else:
        rows = (HEADINGS, *(letter_cells(letter) for letter in letters))
        write_line(out, "\n".join("\t".join(cells) for cells in rows))


def letter_text(letter: Letter, zone: tzinfo | None) -> Text:
    """Where it is, when and what; below that, why, by whom, and where it came from."""
    origin = [f"by {letter.refused_by}"] if letter.refused_by else []
    origin += [f"from {letter.source}"] if letter.source is not None else []
    return Text.assemble(
        (f"{letter.place}  ", "cyan"),
        (f"{time_text(letter.time_us, zone)}  ", ""),
        (f"{letter.reason}  ", "red bold"),
        (visible(f"{letter.of} "), "magenta"),
        (visible(letter.what), "bold"),
        "\n    ",
        visible(letter.detail),
        (visible(f" ({', '.join(origin)})") if origin else "", "dim"),
    )
