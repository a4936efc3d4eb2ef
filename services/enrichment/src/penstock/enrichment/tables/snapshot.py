"""A table on disk, so that the next start replays only what came since.

In:  the image of a table, where its changes came from, the offsets up to which they are in it.
Out: one file, which appears whole or not at all; and the table again, or the reason why the file is not trusted.
Guaranteed: a file is taken only if every byte is as it was written (SHA-256), by a release whose format this one
knows, from the same table of the same topic under the same definition. Everything else is `Refused`, never raised.

The file: MAGIC, format, header (JSON, behind its size), rows in chunks (each behind its size; 0 ends them), SHA-256.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from struct import Struct
from typing import Any, BinaryIO, Final

from penstock.enrichment.tables.change import History, Version
from penstock.enrichment.tables.image import Image
from penstock.enrichment.tables.table import Table

MAGIC: Final = b"penstock table snapshot\n"
FORMAT: Final = 1
_SIZE: Final = Struct("<I")
_ROW: Final = Struct("<II")  # sizes of the key and of the packed row
_CHUNK_BYTES: Final = 1 << 20
_DIGEST_BYTES: Final = sha256().digest_size
_BEFORE_HEADER: Final = len(MAGIC) + _SIZE.size


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a table's content comes from. `definition` is its fingerprint in pipeline.yaml."""

    table: str
    topic: str
    topic_id: str
    definition: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """The table, and for each partition the offset of the first record that is not in it."""

    table: Table
    offsets: dict[int, int]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why there is no table. `missing`: there is no file, as at a first start."""

    reason: str
    missing: bool = False


def write(path: Path, image: Image, origin: Origin, offsets: Mapping[int, int]) -> int:
    """Put the image in the place of the file, and return its size. Any thread; one at a time for each path."""
    scratch = path.with_name(path.name + ".partial")
    digest = sha256()
    with scratch.open("wb") as file:
        for part in _parts(image, origin, offsets):
            digest.update(part)
            file.write(part)
        file.write(digest.digest())
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    scratch.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # or else the new name could be lost with the power
    finally:
        os.close(folder)
    return size


def load(path: Path, origin: Origin, history: History) -> Loaded | Refused:
    """Take the table back, if the file is whole and of this table."""
    try:
        with path.open("rb") as file:
            fault = _fault(file)
            return Refused(f"{path} {fault}") if fault else _read(path, file, origin, history)
    except FileNotFoundError:
        return Refused(f"there is no {path}", missing=True)
    except OSError as error:
        return Refused(f"{path} cannot be read: {error.strerror or error}")


def _parts(image: Image, origin: Origin, offsets: Mapping[int, int]) -> Iterator[bytes]:
    header = json.dumps(_header(image, origin, offsets)).encode()
    yield MAGIC + _SIZE.pack(FORMAT) + _SIZE.pack(len(header)) + header
    chunk = bytearray()
    for key, packed in image.rows.items():
        utf8 = key.encode()
        chunk += _ROW.pack(len(utf8), len(packed)) + utf8 + packed
        if len(chunk) >= _CHUNK_BYTES:
            yield _SIZE.pack(len(chunk)) + chunk
            chunk.clear()
    if chunk:
        yield _SIZE.pack(len(chunk)) + chunk
    yield _SIZE.pack(0)


def _header(image: Image, origin: Origin, offsets: Mapping[int, int]) -> dict[str, Any]:
    return {
        "origin": asdict(origin),
        "history": asdict(image.history),
        "offsets": sorted(offsets.items()),
        "newest_us": image.newest_us,
        "shapes": image.shapes,
        "truncates": [(version[0], version[1].hex(), source) for version, source in image.truncates],
        "truncates_evicted": image.truncates_evicted,
        "rows": len(image.rows),
    }


def _fault(file: BinaryIO) -> str | None:
    """What is wrong with the file as such. Leaves it at the header."""
    start = file.read(_BEFORE_HEADER)
    if start[: len(MAGIC)] != MAGIC:
        return "is no snapshot of a table"
    if len(start) < _BEFORE_HEADER:
        return "is cut off"
    if (number := _SIZE.unpack_from(start, len(MAGIC))[0]) != FORMAT:
        return f"has format {number}; this release reads format {FORMAT}"
    digest, left = sha256(start), file.seek(0, os.SEEK_END) - _BEFORE_HEADER - _DIGEST_BYTES
    file.seek(_BEFORE_HEADER)
    while left > 0 and (block := file.read(min(left, _CHUNK_BYTES))):
        digest.update(block)
        left -= len(block)
    if file.read(_DIGEST_BYTES) != digest.digest():
        return "is damaged or cut off: its checksum does not match its content"
    file.seek(_BEFORE_HEADER)
    return None


def _read(path: Path, file: BinaryIO, origin: Origin, history: History) -> Loaded | Refused:
    try:
        header = json.loads(file.read(*_SIZE.unpack(file.read(_SIZE.size))))
        for name, wanted in (*asdict(origin).items(), *asdict(history).items()):
            if (given := {**header["origin"], **header["history"]}[name]) != wanted:
                return Refused(f"{path} is of another table: its {name} is {given!r}, not {wanted!r}")
        table = Table.restored(_image(header, dict(_rows(file)), origin.table, history))
        return Loaded(table, dict(header["offsets"]))
    except (ValueError, KeyError, TypeError, struct.error) as error:  # whole, but not as we write it
        return Refused(f"{path} cannot be understood: {type(error).__name__}: {error}")


def _image(header: Mapping[str, Any], rows: Mapping[str, bytes], name: str, history: History) -> Image:
    if len(rows) != header["rows"]:
        raise ValueError(f"it has {len(rows)} rows instead of {header['rows']}")
    truncates = tuple((Version(time, bytes.fromhex(place)), source) for time, place, source in header["truncates"])
    shapes, evicted = tuple(header["shapes"]), header["truncates_evicted"]
    return Image(name, history, header["newest_us"], shapes, truncates, evicted, rows)


def _rows(file: BinaryIO) -> Iterator[tuple[str, bytes]]:
    while size := _SIZE.unpack(file.read(_SIZE.size))[0]:
        chunk = file.read(size)
        at = 0
        while at < size:
            key_size, row_size = _ROW.unpack_from(chunk, at)
            middle = at + _ROW.size + key_size
            end = middle + row_size
            yield chunk[at + _ROW.size : middle].decode(), chunk[middle:end]
            at = end
