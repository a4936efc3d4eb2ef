"""The decorator of the store's compiled functions: compiled once, and again when any part of the store changes.

numba keeps machine code in files beside the source, and takes it for good as long as the one file with the function has
not changed. But where fields of rows lie is known all over the store: code that was compiled for other rows would
destroy them. So the names of the files carry a hash of all sources of the store, and neither an edit nor a process that
still runs what was there before it can mix them up.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from penstock.wire import fields, memory

Compiled = TypeVar("Compiled", bound=Callable[..., Any])


@cache
def sources() -> str:
    """What the store is made of, and what it is made with, as a hash."""
    digest = blake2b(digest_size=8)
    for path in (*sorted(Path(__file__).parent.glob("*.py")), Path(str(fields.__file__)), Path(str(memory.__file__))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def jit(function: Compiled) -> Compiled:
    compiled: Any = fields.jit(function)
    files = compiled._cache._cache_file
    base = files._index_name.removesuffix(".nbi")
    files.__init__(files._cache_path, f"{base}.{sources()}", files._source_stamp)
    return compiled  # type: ignore[no-any-return]
