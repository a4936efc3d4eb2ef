"""Pieces of bytes of any size in one array, used again when they are free: serialized posts, names of authors.

A piece takes the next multiple of 16 bytes, or above 1,024 a size that is at most a quarter larger. Free pieces of a
size are a list, linked through their first bytes, and serve pieces of that size again.
Compiled. Whoever takes a piece has made sure that there is room for it (`piece_bytes`) at the end.
"""

from __future__ import annotations

from penstock.timelines.store.layout import NONE, POOL_USED, Int, State
from penstock.wire.fields import jit

_STEP = 16
_SMALL_KINDS = 64  # up to 1,024 bytes


@jit
def piece_kind(size: Int) -> Int:
    if size <= _STEP * _SMALL_KINDS:
        return max((size + _STEP - 1) // _STEP, 1)
    kind = _SMALL_KINDS
    while kind_bytes(kind) < size:
        kind += 1
    return kind


@jit
def kind_bytes(kind: Int) -> Int:
    """Four sizes for each doubling."""
    if kind <= _SMALL_KINDS:
        return _STEP * kind
    over = kind - _SMALL_KINDS
    return (4 + over % 4) << (8 + over // 4)


@jit
def piece_bytes(size: Int) -> Int:
    return kind_bytes(piece_kind(size))


@jit
def take_piece(s: State, size: Int) -> Int:
    """Where it begins."""
    kind = piece_kind(size)
    at = s.pool_free[kind]
    if at != NONE:
        s.pool_free[kind] = s.pool_words[at >> 3]
        return at
    at = s.counts[POOL_USED]
    s.counts[POOL_USED] = at + kind_bytes(kind)
    return at


@jit
def give_piece(s: State, at: Int, size: Int) -> None:
    kind = piece_kind(size)
    s.pool_words[at >> 3] = s.pool_free[kind]
    s.pool_free[kind] = at
