"""What a shape must be, and numbers as compiled code takes them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.timelines.store import Shape
from penstock.timelines.store.values import signed


@pytest.mark.parametrize(("capacity", "slack"), [(0, 1), (1, 0), (1 << 20, 1)])
def test_that_lists_have_a_size(capacity: int, slack: int) -> None:
    with pytest.raises(ValueError, match=f"capacity {capacity}, slack {slack}"):
        Shape(capacity, slack, 1, 1)


def test_that_there_is_a_partition_and_a_shard() -> None:
    with pytest.raises(ValueError, match="0 partitions and 1 shards"):
        Shape(1, 1, 0, 1)
    assert Shape(800, 200, 8, 8).room == 1000


@given(st.integers(0, (1 << 64) - 1))
def test_signed(number: int) -> None:
    assert signed(number) == int(np.uint64(number).view(np.int64))
