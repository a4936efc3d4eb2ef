"""The order of posts is that of (time, id, author), texts by their UTF-8 bytes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from penstock.timelines.store.columns import Columns
from penstock.timelines.store.order import older, same_place, sort_slots
from penstock.timelines.store.pool import piece_bytes
from penstock.timelines.store.rows import new_author, new_post
from penstock.timelines.store.tables import find_author, name_hash
from penstock.timelines.store.values import Shape

Key = tuple[int, bytes, bytes]
texts = st.text("aé\0", max_size=12).map(str.encode)
keys = st.tuples(st.integers(-1, 1), texts, texts)


def slots(columns: Columns, posts: list[Key]) -> list[int]:
    found = []
    for time_us, post_id, author in posts:
        columns.want_authors(1)
        columns.want_slots(1)
        columns.want_pool(piece_bytes(len(author)) + piece_bytes(len(post_id) + 3))
        name, payload = np.frombuffer(author + b"?", np.uint8), np.frombuffer(b"<" + post_id + b">?", np.uint8)
        hashed = name_hash(columns.s, name.ctypes.data, len(author))
        row = find_author(columns.s, hashed, name.ctypes.data, len(author))
        if row < 0:
            row = new_author(columns.s, hashed, name.ctypes.data, len(author))
        size = len(post_id)
        found.append(int(new_post(columns.s, 7, time_us, row, payload.ctypes.data, size + 2, 1, size)))
    return found


@given(keys, keys)
def test_older(left: Key, right: Key) -> None:
    columns = Columns(0, Shape(4, 2, 1, 1), salt=1)
    one, other = slots(columns, [left, right])
    assert older(columns.s, one, other) == (left < right)
    assert older(columns.s, other, one) == (right < left)
    assert same_place(columns.s, one, other) == (left == right)
    assert not older(columns.s, one, one)


@given(st.lists(keys, max_size=40))
def test_sorting(posts: list[Key]) -> None:
    columns = Columns(0, Shape(4, 2, 1, 1), salt=1)
    known = dict(zip(slots(columns, posts), posts, strict=True))
    some = np.array(list(known), np.int32)
    scratch = np.empty_like(some)
    sort_slots(columns.s, some.ctypes.data, some.size, scratch.ctypes.data)
    assert sorted(some.tolist()) == sorted(known)
    assert [known[slot] for slot in some.tolist()] == sorted(posts)
