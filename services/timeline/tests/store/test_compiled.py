"""Compiled code is kept under the version of all sources that it depends on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.timelines.store.compiled import jit, sources
from penstock.timelines.store.steps import spread


def test_that_kept_code_carries_the_hash_of_all_sources() -> None:
    compiled: Any = spread
    assert sources() in compiled.stats.cache_path or sources() in compiled._cache._cache_file._index_path
    assert sources() in compiled._cache._cache_file._data_name(1)


def test_that_it_is_kept_and_taken_again() -> None:
    @jit
    def twice(number: int) -> int:
        return 2 * number

    compiled: Any = twice
    assert twice(21) == 42
    index = Path(compiled._cache._cache_file._index_path)
    assert index.exists()
    for path in index.parent.glob(f"{index.name.removesuffix('.nbi')}.*"):
        path.unlink()
