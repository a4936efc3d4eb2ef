from __future__ import annotations

import pytest
from penstock.jobs.audit.comparison import DISORDER, DUPLICATE, GHOST, LOST, STALE, Entry, differences

A, B, C = (Entry(time, name, "ann", name.encode()) for time, name in ((3, "a"), (2, "b"), (1, "c")))


@pytest.mark.parametrize(
    ("served", "kinds"),
    [
        ([A, B], []),
        ([A], [(LOST, "b")]),
        ([A, B, C], [(GHOST, "c")]),
        ([A, B, B], [(DUPLICATE, "b")]),
        ([B, A], [(DISORDER, "b")]),
        ([A, B._replace(payload=b"old")], [(STALE, "b")]),
        ([A._replace(author="bob"), B], [(LOST, "a"), (GHOST, "a")]),
        ([], [(LOST, "a"), (LOST, "b")]),
    ],
)
def test_that_what_differs_is_named(served: list[Entry], kinds: list[tuple[str, str]]) -> None:
    assert [(one.kind, one.id) for one in differences("u", [A, B], served)] == kinds
