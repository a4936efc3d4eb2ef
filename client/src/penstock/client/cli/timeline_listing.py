"""`penstock timeline` without --follow: two lines per post on a terminal, a line of cells for programs.

In:  pages of a timeline, newest first.
Out: posts on stdout; on stderr what must be known besides: that the timeline is empty, stale, or being refilled.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import tzinfo

from penstock.client.cli.screen import write_line
from penstock.client.cli.timeline_text import HEADINGS, page_fields, page_notes, post_cells, post_lines
from penstock.client.post import Page
from rich.console import Console


def show(
    user: str, pages: Iterable[Page], out: Console, notices: Console, zone: tzinfo | None, *, as_json: bool
) -> None:
    """Prints pages as they come."""
    left_out = False
    for number, page in enumerate(pages):
        if as_json:
            write_line(out, json.dumps(page_fields(user, page)))
            continue
        if number == 0:
            for text, style in page_notes(user, page):
                notices.print(text, style=style, markup=False)
        _show_posts(page, out, zone, first=number == 0)
        left_out = page.next is not None
    if not as_json and left_out and out.is_terminal:
        notices.print("… there are older posts; --limit N or --all shows them", style="dim")


def _show_posts(page: Page, out: Console, zone: tzinfo | None, *, first: bool) -> None:
    if out.is_terminal:
        for post in page.posts:
            for line in post_lines(post, out.width, zone):
                out.print(line)
    else:
        headings: list[tuple[str, ...]] = [HEADINGS] if first else []
        for cells in (*headings, *(post_cells(post, zone) for post in page.posts)):
            write_line(out, "\t".join(cells))
