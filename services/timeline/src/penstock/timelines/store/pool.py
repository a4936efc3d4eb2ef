"""Pieces of bytes of any size in one array, used again when they are free: serialized posts, names of authors.

A piece takes the next multiple of 16 bytes, or above 1,024 a size that is at most a quarter larger. Free pieces of a
size are a list, linked through their first bytes, and serve pieces of that size again.
Compiled. Whoever takes a piece has made sure that there is room for it (`piece_bytes`) at the end.
"""

from __future__ import annotations

import numpy as np
from penstock.timelines.store.compiled import jit
from penstock.timelines.store.layout import NONE, POOL_AT, POOL_FREE_AT, POOL_USED, Int
from penstock.timelines.store.memory import move
from penstock.wire.memory import put, word

_STEP = 16
_SMALL_KINDS = 64  # up to 1,024 bytes


@jit
def piece_kind(size: Int) -> Int:
    if size <= _STEP * _SMALL_KINDS:
        return max((size + _STEP - 1) // _STEP, 1)
    kind = np.int64(_SMALL_KINDS)
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
def take_piece(s: Int, source: Int, size: Int) -> Int:
    """Where it begins, with a copy of what is at the address `source`."""
    kind, free, pool = piece_kind(size), word(s, POOL_FREE_AT), word(s, POOL_AT)
    at = word(free, kind)
    if at != NONE:
        put(free, kind, word(pool + at, 0))
    else:
        at = word(s, POOL_USED)
        put(s, POOL_USED, at + kind_bytes(kind))
    move(pool + at, source, size)
    return at


@jit
def give_piece(s: Int, at: Int, size: Int) -> None:
    kind, free = piece_kind(size), word(s, POOL_FREE_AT)
    put(word(s, POOL_AT) + at, 0, word(free, kind))
    put(free, kind, at)
