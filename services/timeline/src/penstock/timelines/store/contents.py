"""What is in slots, for readers: a post's bytes, its place, its number.

In:  rows of posts and the pool, as they are until one of them is replaced by a larger one.
Out: Python values. By memoryviews, because to take one field out of one row of numpy's takes as long as all of this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.store.layout import POST
from penstock.timelines.store.values import Place


def _word(field: str) -> int:
    """Which of a row's words of eight bytes."""
    return int(POST.fields[field][1]) // 8  # type: ignore[index]


def _half(field: str) -> int:
    return int(POST.fields[field][1]) // 4  # type: ignore[index]


_WORDS: Final = POST.itemsize // 8
_HALVES: Final = POST.itemsize // 4
_NUMBER, _TIME_US, _AT = _word("number"), _word("time_us"), _word("at")
_SIZE, _ID_AT, _ID_SIZE, _AUTHOR = _half("size"), _half("id_at"), _half("id_size"), _half("author")


class Contents:
    def __init__(self, posts: NDArray[Any], pool: NDArray[np.uint8], author_name: Callable[[int], str]) -> None:
        self._words, self._numbers = posts.view(np.int64).data, posts.view(np.uint64).data
        self._halves, self._pool, self._author_name = posts.view(np.int32).data, pool.data, author_name

    def number(self, slot: int) -> int:
        return int(self._numbers[int(slot) * _WORDS + _NUMBER])

    def payload(self, slot: int) -> bytes:
        """The serialized Post, as it came."""
        slot = int(slot)  # or else, where it comes from an array, products overflow
        begin = self._words[slot * _WORDS + _AT]
        return self._pool[begin : begin + self._halves[slot * _HALVES + _SIZE]].tobytes()

    def place(self, slot: int) -> Place:
        words, halves = int(slot) * _WORDS, int(slot) * _HALVES
        begin = self._words[words + _AT] + self._halves[halves + _ID_AT]
        post_id = self._pool[begin : begin + self._halves[halves + _ID_SIZE]].tobytes().decode()
        return Place(self._words[words + _TIME_US], post_id, self._author_name(self._halves[halves + _AUTHOR]))
