from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from penstock.client.cli.preview import preview


def test_short_json_is_one_line_and_long_json_is_laid_out() -> None:
    assert preview(b'{"a":[1,2],"b":"\xc3\xa4"}') == ['{"a": [1, 2], "b": "ä"}']
    lines = preview(json.dumps({"a": "x" * 100, "b": 1}).encode())
    assert lines == ["{", f'  "a": "{"x" * 100}",', '  "b": 1', "}"]


def test_text_is_shown_as_it_is_and_steers_nothing() -> None:
    text = "Hello, all of you who read this\n{not JSON\n\x1b[2J"
    assert preview(text.encode()) == ["Hello, all of you who read this", "{not JSON", r"\x1b[2J"]
    assert preview(b"{not JSON") == ["{not JSON"]


def test_anything_else_is_hexadecimal() -> None:
    assert preview(b"\x00\xffAB") == [f"0000  {'00 ff 41 42':47}  ..AB"]
    assert preview(bytes(1_000))[-1] == "… 744 more bytes; --json has them all"


def test_long_text_says_what_is_left_out() -> None:
    lines = preview(b"line\n" * 100)
    assert (len(lines), lines[-1]) == (41, "… 60 more lines; --json has them all")


@given(st.binary(max_size=5_000))
def test_any_bytes_are_few_and_printable_lines(raw: bytes) -> None:
    lines = preview(raw)
    assert len(lines) <= 41
    assert all(len(line) <= 1_000 and line.isprintable() for line in lines)


@given(st.text(max_size=2_000))
def test_any_text_is_few_and_printable_lines(text: str) -> None:
    lines = preview(text.encode())
    assert len(lines) <= 41
    assert all(line.isprintable() for line in lines)
