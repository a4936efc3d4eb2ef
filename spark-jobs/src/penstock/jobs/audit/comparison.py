"""One timeline as it should be against the one that is served.

In:  posts, newest first, by what they are: time, id, author, all of their bytes. Out: what differs, in words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

LOST, GHOST, DUPLICATE, STALE, DISORDER = "lost", "ghost", "duplicate", "stale", "disorder"
KINDS = (LOST, GHOST, DUPLICATE, STALE, DISORDER)


class Entry(NamedTuple):
    """A post in a timeline."""

    time_us: int
    id: str
    author: str
    payload: bytes

    @property
    def name(self) -> tuple[str, str]:
        return self.author, self.id


class Difference(NamedTuple):
    user: str
    kind: str
    author: str
    id: str
    detail: str


def differences(user: str, expected: Sequence[Entry], served: Sequence[Entry]) -> list[Difference]:
    """None where the two are the same, bit for bit."""
    if list(expected) == list(served):
        return []
    wanted, found = {one.name: one for one in expected}, {one.name: one for one in served}
    result = [
        Difference(user, LOST, *one.name, f"of {one.time_us} should be there")
        for one in expected
        if one.name not in found
    ]
    result += [
        Difference(user, GHOST, *one.name, f"of {one.time_us} should not be there")
        for one in found.values()
        if one.name not in wanted
    ]
    result += [
        Difference(user, DUPLICATE, *name, f"is there {count} times")
        for name, count in Counter(one.name for one in served).items()
        if count > 1
    ]
    result += [
        Difference(user, STALE, *name, f"is served as of {found[name].time_us}, should be as of {one.time_us}")
        for name, one in wanted.items()
        if name in found and found[name] != one
    ]
    if not result:
        at = next(index for index, pair in enumerate(zip(expected, served, strict=True)) if pair[0] != pair[1])
        result.append(Difference(user, DISORDER, *served[at].name, f"stands at {at + 1}, where it should not"))
    return result
