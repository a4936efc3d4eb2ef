from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.jobs.timelines.bundle import BrokenBundleError, Bundle, below, packed, split, taken, texts, unpacked


def test_that_arrays_come_back_as_they_were() -> None:
    bundle: Bundle = {
        "numbers": np.array([0, 2**64 - 1], np.uint64),
        "times": np.array([-5], np.int64),
        "none": np.empty(0, np.uint8),
    }
    again = unpacked(packed(bundle))
    assert {name: (one.dtype, one.tolist()) for name, one in again.items()} == {
        name: (one.dtype, one.tolist()) for name, one in bundle.items()
    }
    assert packed(again) == packed(bundle)


@given(st.lists(st.binary(max_size=5)))
def test_that_texts_come_back_as_they_were(values: list[bytes]) -> None:
    assert split(*texts(values)) == values


@pytest.mark.parametrize("at", [0, 6, 20, -1])
def test_that_a_changed_byte_is_noticed(at: int) -> None:
    data = bytearray(packed({"a": np.arange(5)}))
    data[at] ^= 1
    with pytest.raises(BrokenBundleError):
        unpacked(bytes(data))


def test_that_a_bundle_cut_off_is_noticed() -> None:
    data = packed({"a": np.arange(5)})
    for size in range(len(data)):
        with pytest.raises(BrokenBundleError):
            unpacked(data[:size])


def test_that_bundles_fit_into_one() -> None:
    both = below("one", {"a": np.arange(2)}) | below("two", {"a": np.arange(3)})
    assert (len(taken("one", both)["a"]), len(taken("two", both)["a"])) == (2, 3)
