from __future__ import annotations

from datetime import UTC
from io import StringIO

from penstock.client.cli.letter_list import letter_text, show
from penstock.client.cli.letters import EVENTS, Letter
from penstock.client.place import Place
from rich.console import Console

NOON_US = 1_767_268_800_000_000  # 2026-01-01 12:00 UTC
LETTER = Letter(
    Place(EVENTS, 0, 1), NOON_US, "enrichment", "MALFORMED", "no\x1b[2J event", "phone", "t #7", Place("raw", 3, 17), 2
)


def test_two_lines_on_a_terminal_which_steer_nothing() -> None:
    assert letter_text(LETTER, UTC).plain.splitlines() == [
        "events.rejected.v1:0:1  2026-01-01 12:00:00.000000Z  MALFORMED  phone t #7",
        r"    no\x1b[2J event (by enrichment, from raw:3:17)",
    ]
    unknown = Letter(Place(EVENTS, 0, 1), NOON_US, "", "UNREADABLE", "not readable", "", "")
    assert letter_text(unknown, UTC).plain.splitlines()[1] == "    not readable"


def test_markup_in_a_letter_is_text() -> None:
    out = StringIO()
    letter = Letter(Place(EVENTS, 0, 1), NOON_US, "", "MALFORMED", "[red]x[/]", "[bold]", "t")
    show([letter], Console(file=out, force_terminal=True, color_system=None, soft_wrap=True), UTC, as_json=False)
    assert "[bold] t\n    [red]x[/]" in out.getvalue()


def test_cells_for_programs() -> None:
    out = StringIO()
    show([LETTER], Console(file=out), UTC, as_json=False)
    headings, cells = (line.split("\t") for line in out.getvalue().splitlines())
    assert len(headings) == len(cells) == 8
