from __future__ import annotations

import json
from datetime import timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.client.cli.timeline_text import HEADINGS, one_line, page_fields, page_notes, post_cells, post_lines
from penstock.client.cursor import Cursor
from penstock.client.place import Place
from penstock.client.post import Page, Post
from rich.cells import cell_len

NOON_US = 1_767_268_800_000_000  # 2026-01-01 12:00 UTC
ID = "8c1f09e2b7d35a44"


def post(author: str = "ada", name: str = ID, bound_us: int | None = 3_710, **attributes: str) -> Post:
    return Post(name, author, NOON_US, bound_us, attributes, 7, b"")


def lines(one: Post, width: int) -> list[str]:
    return [line.plain for line in post_lines(one, width)]


def test_time_and_bound_author_id_text_first_then_the_others() -> None:
    assert lines(post(text="Hello", reply_to="p1", language="en"), 100) == [
        f"2026-01-01 12:00:00.000000Z ± 3.71 ms  ada  {ID}",
        "  Hello  language=en reply_to=p1",
    ]


def test_a_time_that_nothing_bounds_and_another_zone() -> None:
    east = timezone(timedelta(hours=2))
    head, body = post_lines(post(bound_us=None), 100, east)
    assert head.plain == f"2026-01-01 14:00:00.000000+0200 ± ?        ada  {ID}"
    assert body.plain == "  (no text)"


def test_a_narrow_terminal_gives_up_fractions_before_names_and_authors_before_ids() -> None:
    assert lines(post(), 60)[0] == f"2026-01-01 12:00:00Z ± 3.71 ms  ada  {ID}"
    assert lines(post("someone-with-a-long-name"), 60)[0] == f"2026-01-01 12:00:00Z ± 3.71 ms  someone-w…  {ID}"
    assert lines(post("someone-with-a-long-name"), 50)[0] == "2026-01-01 12:00:00Z ± 3.71 ms  someone…  8c1f09e…"


def test_a_long_text_leaves_a_third_to_the_others() -> None:
    (_, body) = lines(post(text="word " * 100, language="en", reply_to="x" * 100), 62)
    assert body == f"  {'word ' * 7}wo…  language=en reply_t…"
    assert cell_len(body) == 62


def test_wide_characters_take_two_cells() -> None:
    head, body = lines(post("森田さん", text="東京の朝は静かで、コーヒーがおいしい。" * 5), 60)
    assert head == f"2026-01-01 12:00:00Z ± 3.71 ms  森田さん  {ID}"
    assert body.endswith("…")
    assert cell_len(body) in {59, 60}  # half a character would have fit


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one\ntwo\r\n\n  three  \n", "one ↵ two ↵ three"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("a\tb", r"a\tb"),
        ("right\u202eleft", r"right\u202eleft"),
        ("👩\u200d💻 ❤\ufe0f", "👩💻 ❤"),
        ("", ""),
    ],
)
def test_foreign_text_keeps_to_its_line(text: str, shown: str) -> None:
    assert one_line(text) == shown


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=200), st.text(max_size=80), st.integers(10, 200))
def test_whatever_it_says_it_fits(author: str, name: str, text: str, other: str, width: int) -> None:
    for line in post_lines(post(author, name, text=text, other=other), width):
        assert line.cell_len <= width
        assert "\n" not in line.plain
        assert line.plain.isprintable()


@given(st.text(), st.text(), st.text(), st.text())
def test_cells_for_programs_are_whole_and_keep_to_their_line(author: str, name: str, text: str, other: str) -> None:
    cells = post_cells(post(author, name, text=text, other=other))
    assert len(cells) == len(HEADINGS)
    assert all(cell.isprintable() for cell in cells)
    assert len(cells[4]) >= len(text)


def test_a_page_for_programs() -> None:
    page = Page((post(text="Hello\n"),), Cursor(b""), None, True, False, (Place("timeline.deliveries.v1", 3, 17),))
    assert json.loads(json.dumps(page_fields("bob", page))) == {
        "user": "bob",
        "posts": [
            {
                "author": "ada",
                "id": ID,
                "time": "2026-01-01 12:00:00.000000Z",
                "time_us": NOON_US,
                "error_bound_us": 3_710,
                "attributes": {"text": "Hello\n"},
            }
        ],
        "more": True,
        "refilling": True,
        "stale": False,
        "applied": ["timeline.deliveries.v1:3:17"],
    }


def test_what_must_be_known_besides() -> None:
    empty = Page((), None, None, refilling=True, stale=True, applied=())
    assert [text for text, _ in page_notes("b\x1bob", empty)] == [
        "stale: the timeline does not reflect the token yet",
        "refilling: older posts may be missing, and are on their way",
        r"the timeline of b\x1bob is empty",
    ]
    assert list(page_notes("bob", Page((post(),), None, None, refilling=False, stale=False, applied=()))) == []
