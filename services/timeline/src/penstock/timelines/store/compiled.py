"""The decorator of the store's compiled functions: compiled once, and again when any part of the store changes.

numba keeps machine code beside the source, and takes it for good as long as that one file has not changed. But where
fields of rows lie is known all over the store, so code that was compiled for other rows must never be taken for good.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from penstock.wire import fields

Compiled = TypeVar("Compiled", bound=Callable[..., Any])


@cache
def sources() -> str:
    """What the store is made of, as a hash."""
    digest = blake2b(digest_size=16)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def jit(function: Compiled) -> Compiled:
    compiled: Any = fields.jit(function)
    file = compiled._cache._cache_file
    file._source_stamp = (file._source_stamp, sources())
    return compiled  # type: ignore[no-any-return]
