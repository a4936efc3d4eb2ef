"""A partition's inboxes on disk, so that the next start replays only what came since.

In:  the content of an image (arrays, and what is said about them in JSON) and where it came from.
Out: one file, which appears whole or not at all, beside the one before it; and the content again, or the reason why a
     file is not trusted.
Guaranteed: a file is taken only if every byte is as it was written (SHA-256), by a release whose format this one knows,
from the same partition of the same topic under the same definition. Everything else is `Refused`, never raised.

The file: MAGIC, format, header (JSON, behind its size), the arrays' bytes one after the other, SHA-256.
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

import numpy as np
from numpy.typing import NDArray
from penstock.timelines.failpoints import Failpoint, no_failpoint

MAGIC: Final = b"penstock timeline snapshot\n"
FORMAT: Final = 1
_SIZE: Final = Struct("<I")
_BLOCK_BYTES: Final = 1 << 20
_DIGEST_BYTES: Final = sha256().digest_size
_BEFORE_HEADER: Final = len(MAGIC) + _SIZE.size
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where inboxes come from, and what they depend on besides. Equal, or else another content."""

    topic: str
    topic_id: str
    partition: int
    partitions: int
    shards: int
    capacity: int
    slack: int
    posts: str  # fingerprints of the tables in pipeline.yaml
    follows: str
    image_format: int  # of the store


@dataclass(frozen=True, slots=True)
class Content:
    """What an image is made of: what JSON can have, and arrays of plain numbers."""

    meta: Mapping[str, Any]
    arrays: Arrays


@dataclass(frozen=True, slots=True)
class Refused:
    """Why there is no content. `missing`: there is no file, as at a first start."""

    reason: str
    missing: bool = False


def previous(path: Path) -> Path:
    """Where the file before this one is kept."""
    return path.with_name(path.name + ".previous")


def write(path: Path, content: Content, origin: Origin, failpoint: Failpoint = no_failpoint) -> int:
    """Put the content in the place of the file, and return its size. Any thread; one at a time for each path."""
    scratch = path.with_name(path.name + ".partial")
    digest = sha256()
    with scratch.open("wb") as file:
        for part in _parts(content, origin):
            digest.update(part)
            file.write(part)
            failpoint("snapshot_partial")
        file.write(digest.digest())
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    if path.exists():
        path.replace(previous(path))
    failpoint("snapshot_moved")  # here, only the one before is there
    scratch.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # or else the new name could be lost with the power
    finally:
        os.close(folder)
    failpoint("snapshot_written")
    return size


def load(path: Path, origin: Origin) -> Content | Refused:
    """Take the content back, if the file is whole and of this partition."""
    try:
        with path.open("rb") as file:
            fault = _fault(file)
            return Refused(f"{path} {fault}") if fault else _read(path, file, origin)
    except FileNotFoundError:
        return Refused(f"there is no {path}", missing=True)
    except OSError as error:
        return Refused(f"{path} cannot be read: {error.strerror or error}")


def _parts(content: Content, origin: Origin) -> Iterator[bytes | memoryview]:
    arrays = {name: np.ascontiguousarray(array) for name, array in content.arrays.items()}
    described = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
    header = json.dumps({"origin": asdict(origin), "meta": dict(content.meta), "arrays": described}).encode()
    yield MAGIC + _SIZE.pack(FORMAT) + _SIZE.pack(len(header)) + header
    for array in arrays.values():
        if array.size:
            yield array.reshape(-1).view(np.uint8).data


def _fault(file: BinaryIO) -> str | None:
    """What is wrong with the file as such. Leaves it at the header."""
    start = file.read(_BEFORE_HEADER)
    if start[: len(MAGIC)] != MAGIC:
        return "is no snapshot of timelines"
    if len(start) < _BEFORE_HEADER:
        return "is cut off"
    if (number := _SIZE.unpack_from(start, len(MAGIC))[0]) != FORMAT:
        return f"has format {number}; this release reads format {FORMAT}"
    digest, left = sha256(start), file.seek(0, os.SEEK_END) - _BEFORE_HEADER - _DIGEST_BYTES
    file.seek(_BEFORE_HEADER)
    while left > 0 and (block := file.read(min(left, _BLOCK_BYTES))):
        digest.update(block)
        left -= len(block)
    if file.read(_DIGEST_BYTES) != digest.digest():
        return "is damaged or cut off: its checksum does not match its content"
    file.seek(_BEFORE_HEADER)
    return None


def _read(path: Path, file: BinaryIO, origin: Origin) -> Content | Refused:
    try:
        header = json.loads(file.read(*_SIZE.unpack(file.read(_SIZE.size))))
        for name, wanted in asdict(origin).items():
            if (given := header["origin"].get(name)) != wanted:
                return Refused(f"{path} is of other timelines: its {name} is {given!r}, not {wanted!r}")
        return Content(header["meta"], {name: _array(file, kind, shape) for name, kind, shape in header["arrays"]})
    except (ValueError, KeyError, TypeError, AttributeError, struct.error) as error:  # whole, but not as we write it
        return Refused(f"{path} cannot be understood: {type(error).__name__}: {error}")


def _array(file: BinaryIO, kind: str, shape: list[int]) -> NDArray[Any]:
    dtype = np.dtype(kind)
    if dtype.kind not in "uifb":
        raise ValueError(f"an array of {kind}")
    array: NDArray[Any] = np.empty(shape, dtype)
    if array.size:
        whole = array.reshape(-1).view(np.uint8).data
        if file.readinto(whole) != len(whole):  # type: ignore[attr-defined]  # typeshed's BinaryIO lacks it
            raise ValueError("an array is cut off")
    return array
