"""Positions of versions in twelve bytes each, compared exactly.

In:  the position of a RowVersion: eight bytes of a database's log, or the identity of an event, of any length.
Out: (place, tail): its last eight bytes as a number, and the number of what stands before them.
Positions break ties between versions of one microsecond only, so comparing them may be slow; being wrong may not.
"""

from __future__ import annotations

from typing import Final

_TAIL: Final = 8


class Places:
    """What stands before the last eight bytes: for events, the device and its boot, which many events share."""

    def __init__(self, heads: list[bytes] | None = None) -> None:
        self.heads: list[bytes] = []
        self._numbers: dict[bytes, int] = {}
        for head in heads or ():
            self._intern(head)

    def split(self, position: bytes) -> tuple[int, int]:
        if len(position) < _TAIL:
            return self._intern(b"\0" + position), 0
        return self._intern(b"\1" + position[:-_TAIL]), int.from_bytes(position[-_TAIL:], "big")

    def joined(self, place: int, tail: int) -> bytes:
        head = self.heads[place]
        return head[1:] if head[:1] == b"\0" else head[1:] + tail.to_bytes(_TAIL, "big")

    def _intern(self, head: bytes) -> int:
        number = self._numbers.setdefault(head, len(self.heads))
        if number == len(self.heads):
            self.heads.append(head)
        return number
