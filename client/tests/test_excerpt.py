from __future__ import annotations

from penstock.client.excerpt import excerpt


def test_short_text_stays_and_long_text_is_cut() -> None:
    assert excerpt("x" * 40) == "x" * 40
    assert excerpt("x" * 41) == "x" * 40 + "…"
    assert excerpt("abc", 2) == "ab…"
