"""One version in packed form, without its time: its source, its shape, its position, its values.

In:  what a change says, with its place in the log.
Out: bytes, and what they say, piece by piece, so that a reader pays only for what it asks.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.enrichment.tables.change import OFFSET_BITS, OFFSET_MAX, PARTITION_MAX
from penstock.enrichment.tables.shapes import SPELLED_OUT, Shape, Shapes, split

BODY: Final = Struct("<QHH")  # the source, the number of the shape, the size of the position


def source_of(partition: int, offset: int) -> int:
    """A place in the table's log as one number. Of two places, the lower number is the source to name."""
    if not (0 <= partition <= PARTITION_MAX and 0 <= offset <= OFFSET_MAX):
        raise ValueError(f"no log has a partition {partition} with an offset {offset}")
    return partition << OFFSET_BITS | offset


def place_of(source: int) -> tuple[int, int]:
    return source >> OFFSET_BITS, source & OFFSET_MAX


def pack_body(source: int, number: int, position: bytes, values: bytes) -> bytes:
    return BODY.pack(source, number, len(position)) + position + values


def body_source(body: bytes) -> int:
    source: int = BODY.unpack_from(body)[0]
    return source


def position_of(body: bytes) -> bytes:
    size: int = BODY.unpack_from(body)[2]
    return body[BODY.size : BODY.size + size]


class Bodies:
    """Reads bodies with a table's shapes."""

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes

    def read(self, body: bytes) -> tuple[Shape, str]:
        """The shape and the joined values."""
        _, number, size = BODY.unpack_from(body)
        return self._shapes.read(number, body[BODY.size + size :])

    def shape(self, body: bytes) -> Shape:
        number: int = BODY.unpack_from(body)[1]
        return self._shapes.known[number] if number != SPELLED_OUT else self.read(body)[0]

    def deleted(self, packed: bytes, at: int) -> bool:
        """Whether the body at a place, which reaches to the end, is a delete."""
        number: int = BODY.unpack_from(packed, at)[1]
        shape = self._shapes.known[number] if number != SPELLED_OUT else self.shape(packed[at:])
        return shape.deleted

    def unknown(self, body: bytes) -> tuple[str, ...]:
        return self.shape(body).unknown

    def columns(self, body: bytes) -> dict[str, str]:
        shape, text = self.read(body)
        return dict(zip(shape.names, split(text, len(shape.names)), strict=True))

    def outranks(self, body: bytes, other: bytes) -> bool:
        """Which of two bodies counts that claim the same version. Of equal ones, the first in the log."""
        (shape, text), (other_shape, other_text) = self.read(body), self.read(other)
        if shape == other_shape and text == other_text:
            return body_source(body) < body_source(other)
        return (shape.rank, text) > (other_shape.rank, other_text)

    def same(self, body: bytes, other: bytes) -> bool:
        """Whether they say the same, wherever they come from."""
        return self.read(body) == self.read(other)
