"""Pieces of the pool: kept apart, used again."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from penstock.timelines.store.columns import Columns
from penstock.timelines.store.layout import POOL_USED
from penstock.timelines.store.pool import give_piece, piece_bytes, take_piece
from penstock.timelines.store.values import Shape

SHAPE = Shape(4, 2, 1, 1)


def taken(columns: Columns, data: bytes) -> int:
    columns.want_pool(piece_bytes(len(data)))
    return int(take_piece(columns.s, np.frombuffer(data, np.uint8).ctypes.data, len(data)))


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 9)), max_size=60))
def test_pieces_stay_as_they_are(steps: list[tuple[int, int]]) -> None:
    """Each step takes a piece, and gives one back now and then."""
    columns, pieces = Columns(0, SHAPE, 0), dict[int, bytes]()
    for number, (size, give) in enumerate(steps):
        data = bytes([number % 256]) * size
        pieces[taken(columns, data)] = data
        if give < 4 and pieces:
            at = sorted(pieces)[give % len(pieces)]
            give_piece(columns.s, at, len(pieces.pop(at)))
        assert all(columns.pool[at : at + len(data)].tobytes() == data for at, data in pieces.items())


def test_a_free_piece_is_used_again() -> None:
    columns = Columns(0, SHAPE, 0)
    first = taken(columns, b"x" * 100)
    used = columns.count(POOL_USED)
    give_piece(columns.s, first, 100)
    assert taken(columns, b"y" * 97) == first
    assert columns.count(POOL_USED) == used


@given(st.integers(0, 1 << 24))
def test_a_piece_is_little_larger_than_what_is_in_it(size: int) -> None:
    assert size <= piece_bytes(size) <= max(size + 15, size * 5 // 4, 16)
