"""Named arrays as one piece of bytes: how a shard's state and its changes are kept in Spark's state store.

In:  arrays by name. Out: bytes that appear the same for the same arrays, and the arrays again.
Guaranteed: bytes that are damaged, cut off or of another format are refused by name, never misread.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from struct import Struct
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Bundle = dict[str, NDArray[Any]]

_MAGIC: Final = b"PSB1"
_HEADER: Final = Struct("<II")  # CRC-32 of all that follows, size of the index


class BrokenBundleError(ValueError):
    """These bytes are no bundle, or not the one that was written."""


def packed(bundle: Bundle) -> bytes:
    index = json.dumps([[name, array.dtype.str, len(array)] for name, array in bundle.items()]).encode()
    body = index + b"".join(np.ascontiguousarray(array).tobytes() for array in bundle.values())
    return _MAGIC + _HEADER.pack(zlib.crc32(body), len(index)) + body


def unpacked(data: bytes) -> Bundle:
    """The arrays are not to be written to."""
    begin = len(_MAGIC) + _HEADER.size
    if data[: len(_MAGIC)] != _MAGIC or len(data) < begin:
        raise BrokenBundleError(f"not a bundle of this release: it begins with {data[:4]!r}")
    check, size = _HEADER.unpack_from(data, len(_MAGIC))
    if zlib.crc32(memoryview(data)[begin:]) != check:
        raise BrokenBundleError("a bundle is damaged: its checksum differs")
    bundle: Bundle = {}
    at = begin + size
    for name, kind, count in json.loads(data[begin:at]):
        bundle[name] = np.frombuffer(data, np.dtype(kind), count, at)
        at += bundle[name].nbytes
    return bundle


def texts(values: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Byte strings as one array, and where each ends."""
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    return np.frombuffer(b"".join(values), np.uint8), np.cumsum(sizes)


def split(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> list[bytes]:
    """The byte strings again."""
    whole, begin = data.tobytes(), 0
    values = []
    for end in ends.tolist():
        values.append(whole[begin:end])
        begin = end
    return values


def below(prefix: str, bundle: Bundle) -> Bundle:
    """The same arrays under longer names, so that several bundles fit into one."""
    return {f"{prefix}.{name}": array for name, array in bundle.items()}


def taken(prefix: str, bundle: Bundle) -> Bundle:
    """One of several again."""
    return {name.removeprefix(f"{prefix}."): one for name, one in bundle.items() if name.startswith(f"{prefix}.")}
