from __future__ import annotations

import io
import json
from datetime import UTC

from penstock.client.cli.timeline_listing import show
from penstock.client.cursor import Cursor
from penstock.client.post import Page, Post
from rich.console import Console


def page(*ids: str, more: bool = False) -> Page:
    posts = tuple(Post(name, "ada", 1, 0, {"text": f"Text of {name}"}, 1, b"") for name in ids)
    return Page(posts, Cursor(b"") if more else None, None, refilling=False, stale=False, applied=())


def shown(pages: list[Page], *, terminal: bool = False, as_json: bool = False) -> tuple[list[str], list[str]]:
    out, notices = io.StringIO(), io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=60, color_system=None, soft_wrap=True)
    show("bob", pages, console, Console(file=notices, width=200), UTC, as_json=as_json)
    return out.getvalue().splitlines(), notices.getvalue().splitlines()


def test_two_lines_per_post_on_a_terminal() -> None:
    out, notices = shown([page("p3", "p2", more=True), page("p1", more=True)], terminal=True)
    assert [line.strip() for line in out[1::2]] == ["Text of p3", "Text of p2", "Text of p1"]
    assert all(line.endswith(name) for line, name in zip(out[::2], ("p3", "p2", "p1"), strict=True))
    assert notices == ["… there are older posts; --limit N or --all shows them"]


def test_a_line_of_cells_per_post_for_programs_and_headings_once() -> None:
    out, notices = shown([page("p3", "p2", more=True), page("p1", more=True)])
    assert [line.split("\t")[3] for line in out] == ["id", "p3", "p2", "p1"]
    assert notices == []


def test_an_object_per_page() -> None:
    out, notices = shown([page("p2", more=True), page()], as_json=True)
    assert [(len(one["posts"]), one["more"]) for one in map(json.loads, out)] == [(1, True), (0, False)]
    assert notices == []


def test_only_the_first_page_can_be_an_empty_timeline() -> None:
    assert shown([page()], terminal=True) == ([], ["the timeline of bob is empty"])
    assert shown([page("p1", more=True), page()])[1] == []
