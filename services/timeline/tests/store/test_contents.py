"""Slots say what posts they hold, also where numpy's own numbers are used, which overflow."""

from __future__ import annotations

import numpy as np
from penstock.timelines.store import Place
from penstock.timelines.store.contents import Contents
from penstock.timelines.store.layout import POST


def test_contents() -> None:
    posts, pool = np.zeros(3, POST), np.frombuffer(b"....<id>...", np.uint8)
    posts[2] = (1 << 63 | 5, -7, 0, 4, 4, 1, 2, 9, 1, 0, -1, 0)
    contents = Contents(posts, pool, lambda row: f"author {row}")
    for slot in (2, np.uint32(2), np.uint8(2)):
        assert contents.number(int(slot)) == 1 << 63 | 5
        assert contents.payload(slot) == b"<id>"  # type: ignore[arg-type]
        assert contents.place(slot) == Place(-7, "id", "author 9")  # type: ignore[arg-type]
