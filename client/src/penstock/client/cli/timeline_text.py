"""Posts and timelines as people and programs read them. Pure.

In:  posts and pages, as the timeline service answered.
Out: two lines per post that fit the terminal, however narrow, with wide characters counted as such; cells for programs;
     objects for JSON, in which nothing is shortened.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, tzinfo
from typing import Any

from penstock.client.cli.rendering import visible
from penstock.client.cli.times import bound_text, time_text
from penstock.client.post import Page, Post
from rich.cells import cell_len
from rich.text import Text

HEADINGS = ("time", "within", "author", "id", "text", "attributes")
_TEXT = "text"
"""The attribute that people want to read first."""
_NARROW = 72
"""Below this, fractions of seconds give way to names."""
_BOUND_CELLS = 9  # ± 12.3 ms
_AUTHOR_CELLS_MIN = 8
_INDENT = "  "
_GAP = "  "
# Joiners and selectors between emoji, for which terminals take different widths: without them all agree.
_WIDTH_IS_ANYBODYS_GUESS = {ord("\u200d"): None, ord("\ufe0f"): None}


def post_lines(post: Post, width: int, zone: tzinfo | None = UTC) -> tuple[Text, Text]:
    """When, by whom and which; below that the text and what else is known."""
    return _head(post, width, zone), _body(post, width)


def _head(post: Post, width: int, zone: tzinfo | None) -> Text:
    moment = time_text(post.time_us, zone)
    if width < _NARROW:
        whole, point, fraction = moment.partition(".")
        moment = whole + fraction.lstrip("0123456789") if point else moment
    bound = f"{bound_text(post.error_bound_us):{_BOUND_CELLS}}"
    author, name = one_line(post.author), one_line(post.id)
    room = max(width - cell_len(f"{moment} {bound}{_GAP}{_GAP}"), 0)
    # Ids are for copying, so that authors are cut first.
    author_cells = min(cell_len(author), max(room - cell_len(name), min(_AUTHOR_CELLS_MIN, room)))
    line = Text.assemble((moment, "cyan"), " ", (bound, "yellow" if post.error_bound_us is None else "green"), _GAP)
    line.append_text(_cut(author, author_cells, "bold magenta"))
    line.append(_GAP)
    line.append_text(_cut(name, room - author_cells, "dim"))
    line.truncate(width, overflow="ellipsis")
    return line


def _body(post: Post, width: int) -> Text:
    said, others = one_line(post.attributes.get(_TEXT, "")), one_line(_others(post))
    room = max(width - cell_len(_INDENT), 0)
    line = Text(_INDENT)
    if not said and not others:
        line.append("(no text)", "dim")
    others_cells = min(cell_len(others), room // 3) if said else room
    if said:
        text = _cut(said, room - (others_cells + len(_GAP) if others else 0), "")
        line.append_text(text)
        others_cells = room - text.cell_len - len(_GAP)
    if others:
        line.append(_GAP if said else "")
        line.append_text(_cut(others, others_cells, "dim"))
    line.truncate(width, overflow="ellipsis")
    return line


def one_line(text: str) -> str:
    """As `visible`, for reading instead of copying: line breaks are arrows, and widths are what all terminals think."""
    lines = (visible(line.translate(_WIDTH_IS_ANYBODYS_GUESS)).strip() for line in text.splitlines())
    return " ↵ ".join(line for line in lines if line)


def _cut(text: str, cells: int, style: str) -> Text:
    shown = Text(text, style)
    shown.truncate(max(cells, 0), overflow="ellipsis")
    return shown


def _others(post: Post) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(post.attributes.items()) if name != _TEXT)


def post_cells(post: Post, zone: tzinfo | None = UTC) -> tuple[str, ...]:
    """Under HEADINGS, for programs: nothing is cut, and no cell has a tab or a line break."""
    shown = (post.author, post.id, post.attributes.get(_TEXT, ""), _others(post))
    return time_text(post.time_us, zone), bound_text(post.error_bound_us), *(visible(cell) for cell in shown)


def post_fields(post: Post) -> dict[str, Any]:
    """null is "not known"."""
    return {
        "author": post.author,
        "id": post.id,
        "time": time_text(post.time_us),
        "time_us": post.time_us,
        "error_bound_us": post.error_bound_us,
        "attributes": dict(sorted(post.attributes.items())),
    }


def page_fields(user: str, page: Page) -> dict[str, Any]:
    """`more` says whether there are older posts."""
    return {
        "user": user,
        "posts": [post_fields(post) for post in page.posts],
        "more": page.next is not None,
        "refilling": page.refilling,
        "stale": page.stale,
        "applied": [str(place) for place in page.applied],
    }


def page_notes(user: str, page: Page) -> Iterator[tuple[str, str]]:
    """(text, style): what must be known about a page besides its posts."""
    if page.stale:
        yield "stale: the timeline does not reflect the token yet", "yellow"
    if page.refilling:
        yield "refilling: older posts may be missing, and are on their way", "yellow"
    if not page.posts:
        yield f"the timeline of {visible(user)} is empty", "yellow"
