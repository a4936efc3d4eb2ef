"""The canonical hash of a table's content: equal for equal content, however it came about.

In:  the image of a table.
Out: 32 bytes: SHA-256 over the truncates and over the rows sorted by key, each with its versions from old to new as
     they are *logically* kept, every part behind its size.
Sources (offsets) are left out: a log that was copied has the same content. So is the order in which shapes were met.
"""

from __future__ import annotations

from hashlib import sha256
from struct import Struct

from penstock.enrichment.tables.bodies import BODY, Bodies
from penstock.enrichment.tables.image import Image
from penstock.enrichment.tables.shapes import SPELLED_OUT, Shapes, read_shape
from penstock.enrichment.tables.versions import Row, evict, unpack

_TABLE = Struct("<I?")  # number of truncates, whether older ones were evicted
_TRUNCATE = Struct("<qI")  # the time, the size of the position
_ROW = Struct("<I?I")  # the size of the key, whether versions were evicted, number of versions
_VERSION = Struct("<qIII")  # the time; sizes: of the position, the shape, the values


def content_hash(image: Image) -> bytes:
    spelling = _Spelling(image)
    digest = sha256(b"penstock table 1\n" + _TABLE.pack(len(image.truncates), image.truncates_evicted))
    for version, _ in image.truncates:
        digest.update(_TRUNCATE.pack(version.valid_from_us, len(version.position)) + version.position)
    for key in sorted(image.rows):
        digest.update(spelling.row(key.encode(), unpack(image.rows[key])))
    return digest.digest()


class _Spelling:
    """Rows as they are hashed."""

    def __init__(self, image: Image) -> None:
        self._shapes = Shapes([read_shape(text) for text in image.shapes])
        self._bodies = Bodies(self._shapes)
        self._texts = [text.encode() for text in image.shapes]
        self._versions_max = image.history.versions_max
        self._horizon_us = image.horizon_us

    def row(self, key: bytes, row: Row) -> bytes:
        if len(row.times) > 1:
            row = evict(row, self._versions_max, self._horizon_us, self._bodies.unknown)
        parts = [_ROW.pack(len(key), row.evicted, len(row.times)), key]
        begin = 0
        for valid_from_us, size in zip(row.times, row.sizes, strict=True):
            self._add(parts, valid_from_us, row.bodies[begin : begin + size])
            begin += size
        return b"".join(parts)

    def _add(self, parts: list[bytes], valid_from_us: int, body: bytes) -> None:
        _, number, position_size = BODY.unpack_from(body)
        values = body[BODY.size + position_size :]
        if number != SPELLED_OUT:
            shape = self._texts[number]
        else:  # that the table had run out of numbers must not show
            spelled, text = self._shapes.read(number, values)
            shape, values = spelled.text.encode(), text.encode()
        position = body[BODY.size : BODY.size + position_size]
        parts += (_VERSION.pack(valid_from_us, position_size, len(shape), len(values)), position, shape, values)
