from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.client.cursor import Cursor, from_wire, to_wire
from penstock.events.v1.event_pb2 import Position
from penstock.timeline.v1 import timeline_pb2

POSITIONS = st.builds(Position, topic=st.text(max_size=20), partition=st.integers(0, 99), offset=st.integers(0, 2**62))
MESSAGES = st.builds(
    timeline_pb2.Cursor,
    time_us=st.integers(0, 2**62),
    post_id=st.text(max_size=20),
    author=st.text(max_size=20),
    seen=st.lists(POSITIONS, max_size=3),
    held=st.lists(st.integers(0, 2**64 - 1), max_size=20),
)
LONGEST = timeline_pb2.Cursor(time_us=1, post_id="p", author="ada", held=range(2**63, 2**63 + 800))


@given(MESSAGES)
def test_a_text_is_all_of_a_cursor(message: timeline_pb2.Cursor) -> None:
    cursor = from_wire(message)
    assert Cursor.parse(cursor.text) == cursor
    assert to_wire(Cursor.parse(cursor.text)) == message
    assert set(cursor.text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@given(MESSAGES, st.data())
def test_a_text_that_was_cut_or_changed_is_noticed(message: timeline_pb2.Cursor, data: st.DataObject) -> None:
    text = from_wire(message).text
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(ValueError, match="is no cursor, or only a part of one"):
        Cursor.parse(text[:cut])
    at = data.draw(st.integers(0, len(text) - 2))  # the last character has bits to spare, which say nothing
    with pytest.raises(ValueError, match="is no cursor"):
        Cursor.parse(text[:at] + ("B" if text[at] == "A" else "A") + text[at + 1 :])


@pytest.mark.parametrize("text", ["", "AAAA", "ä", "not a cursor!", "=", "A" * (1 << 20) + "A"])
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is no cursor"):
        Cursor.parse(text)


def test_a_text_of_something_else_is_none() -> None:
    with pytest.raises(ValueError, match="is no cursor"):
        Cursor.parse(Cursor(b"\xff\xff").text)


def test_of_a_full_timeline_it_is_nine_kilobytes_and_reads_short() -> None:
    cursor = from_wire(LONGEST)
    assert len(cursor.text) < 9_000
    assert len(repr(cursor)) < 80
    assert repr(cursor).startswith("Cursor.parse('")


def test_for_all_keeps_what_is_held_and_forgets_the_place() -> None:
    seen = [Position(topic="timeline.deliveries.v1", partition=3, offset=9)]
    cursor = from_wire(timeline_pb2.Cursor(time_us=5, post_id="p", author="a", seen=seen, held=[7, 8]))
    assert to_wire(cursor.for_all()) == timeline_pb2.Cursor(seen=seen, held=[7, 8])
