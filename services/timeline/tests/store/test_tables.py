"""Hash tables find what was entered, whatever was struck in between."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from penstock.timelines.store.columns import Columns
from penstock.timelines.store.layout import NONE, POSTS, USERS
from penstock.timelines.store.pool import piece_bytes
from penstock.timelines.store.rows import new_author, new_post, new_user, release_entry
from penstock.timelines.store.tables import find_author, find_post, find_user, name_hash, post_slots
from penstock.timelines.store.values import Shape, signed

SHAPE = Shape(4, 2, 1, 1)
numbers = st.integers(0, 40) | st.integers(0, (1 << 64) - 1)


@given(st.lists(numbers, unique=True, max_size=200), st.integers(0, (1 << 64) - 1))
def test_users(users: list[int], salt: int) -> None:
    columns = Columns(0, SHAPE, salt)
    rows = {}
    for number in users:
        columns.want_users(1)
        rows[number] = new_user(columns.s, signed(number))
    assert {number: find_user(columns.s, signed(number)) for number in users} == rows
    assert sorted(rows.values()) == list(range(columns.count(USERS)))
    assert find_user(columns.s, signed(max(users, default=0) ^ 1 << 50)) == NONE


@given(st.lists(st.text(max_size=30).map(str.encode), unique=True, max_size=100), st.integers(0, (1 << 64) - 1))
def test_authors(authors: list[bytes], salt: int) -> None:
    columns = Columns(0, SHAPE, salt)
    rows = {}
    for name in authors:
        columns.want_authors(1)
        columns.want_pool(piece_bytes(len(name)))
        data = np.frombuffer(name + b"?", np.uint8)
        hashed = name_hash(columns.s, data.ctypes.data, len(name))
        assert find_author(columns.s, hashed, data.ctypes.data, len(name)) == NONE
        rows[name] = new_author(columns.s, hashed, data.ctypes.data, len(name))
        assert find_author(columns.s, hashed, data.ctypes.data, len(name)) == rows[name]
    assert {columns.author_name(row).encode(): row for row in range(len(authors))} == rows


@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=150), st.integers(0, (1 << 64) - 1))
def test_posts(steps: list[tuple[int, bool]], salt: int) -> None:
    """Numbers that are found again and again: entered if they are not there, or else struck, if they shall be."""
    columns, known = Columns(0, SHAPE, salt), dict[int, int]()
    for number, strike in steps:
        data = np.frombuffer(b"post %d" % number, np.uint8)
        slot = int(find_post(columns.s, number, data.ctypes.data, data.size))
        assert slot == known.get(number, NONE)
        if slot == NONE:
            columns.want_slots(1)
            columns.want_pool(piece_bytes(data.size))
            known[number] = int(new_post(columns.s, number, 0, 0, data.ctypes.data, data.size, 0, 4))
        elif strike:
            release_entry(columns.s, known.pop(number))
    assert {number: post_slots(columns.s, number).tolist() for number in range(13)} == {
        number: [known[number]] if number in known else [] for number in range(13)
    }
    assert columns.count(POSTS) == len(known)


def test_a_number_with_several_slots() -> None:
    columns, payloads = Columns(0, SHAPE, 0), [np.frombuffer(b"version %d" % number, np.uint8) for number in range(9)]
    columns.want_pool(9 * piece_bytes(9))
    slots = [int(new_post(columns.s, 5, 0, 0, data.ctypes.data, data.size, 0, 1)) for data in payloads]
    assert sorted(post_slots(columns.s, 5).tolist()) == slots
    assert [int(find_post(columns.s, 5, data.ctypes.data, data.size)) for data in payloads] == slots
