"""Which columns a version has, told once for all versions that have the same ones.

In:  the columns and unknown columns of a change.
Out: the number of its shape and its packed values; and back again.
A row in memory is its values only: names, op and flags live in the shape, of which a table has few. A table that
has more shapes than numbers spells the rest out in each version, which is rare, larger, and means the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

SPELLED_OUT: Final = 0xFFFF
SHAPES_MAX: Final = 4_096
_ORDERS_MAX: Final = 4 * SHAPES_MAX


class Shape(NamedTuple):
    """All of a version but its values. `names` and `unknown` are sorted, so that equal shapes are equal."""

    deleted: bool
    from_snapshot: bool
    names: tuple[str, ...]
    unknown: tuple[str, ...]
    text: str  # the shape as canonical JSON

    @property
    def rank(self) -> tuple[bool, bool, int, str]:
        """Of two changes that claim one version, the greater counts: no snapshot, a delete, fewer unknown columns."""
        return not self.from_snapshot, self.deleted, -len(self.unknown), self.text


def shape_of(deleted: bool, from_snapshot: bool, names: Sequence[str], unknown: Sequence[str]) -> Shape:
    """A column that is said to be unknown and has a value all the same is known."""
    parts = deleted, from_snapshot, tuple(sorted(names)), tuple(sorted(set(unknown).difference(names)))
    return Shape(*parts, json.dumps(parts, ensure_ascii=False, separators=(",", ":")))


def read_shape(text: str) -> Shape:
    deleted, from_snapshot, names, unknown = json.loads(text)
    return shape_of(deleted, from_snapshot, names, unknown)


def join(values: Sequence[str]) -> str:
    """The values as one text, with NUL between; where one has a NUL in it, as JSON behind as many NULs as values."""
    text = "\0".join(values)
    if text.count("\0") >= max(len(values), 1):
        return "\0" * len(values) + json.dumps(values, ensure_ascii=False)
    return text


def split(text: str, count: int) -> list[str]:
    """What `join` joined."""
    if count == 0:
        return []
    values = text.split("\0")
    if len(values) > count:
        values = json.loads(values[-1])
    return values


class Shapes:
    """The shapes of one table, by number."""

    def __init__(self, known: Sequence[Shape] = (), shapes_max: int = SHAPES_MAX) -> None:
        self.known: list[Shape] = []
        # The names of the usual shapes (a row, all columns known), for a reader in a hurry.
        self.plain: dict[int, tuple[str, ...]] = {}
        self._shapes_max = shapes_max
        self._number_of: dict[Shape, int] = {}
        # A map's order is whatever the message had: each order met leads to the one shape.
        self._met: dict[tuple[object, ...], tuple[Shape, int]] = {}
        for shape in known:
            self._number(shape)

    def pack(
        self, deleted: bool, from_snapshot: bool, columns: Mapping[str, str], unknown: Sequence[str]
    ) -> tuple[int, bytes]:
        """The number of the shape, and the packed values."""
        order = (deleted, from_snapshot, *columns, None, *unknown) if unknown else (deleted, from_snapshot, *columns)
        shape, number = self._met.get(order) or self._meet(order, columns, unknown)
        text = join([columns[name] for name in shape.names])
        if number == SPELLED_OUT:
            text = json.dumps([shape.text, text], ensure_ascii=False)
        return number, text.encode()

    def read(self, number: int, packed: bytes) -> tuple[Shape, str]:
        """The shape, and the values as `join` made them."""
        if number != SPELLED_OUT:
            return self.known[number], packed.decode()
        shape, text = json.loads(packed)
        return read_shape(shape), text

    def _meet(self, order: tuple[object, ...], columns: Mapping[str, str], unknown: Sequence[str]) -> tuple[Shape, int]:
        shape = shape_of(bool(order[0]), bool(order[1]), list(columns), unknown)
        met = shape, self._number(shape)
        if len(self._met) < _ORDERS_MAX:
            self._met[order] = met
        return met

    def _number(self, shape: Shape) -> int:
        number = self._number_of.get(shape, len(self.known))
        if number == self._shapes_max:
            return SPELLED_OUT
        if number == len(self.known):
            self.known.append(shape)
            self._number_of[shape] = number
            if shape.names and not shape.unknown:
                self.plain[number] = shape.names
        return number
