import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from penstock.topics.partitioning import murmur2 as plain_murmur2
from penstock.wire.fields import span, utf8, varint
from penstock.wire.writing import copy, murmur2, put_big_endian, put_sized, put_varint, varint_size

INT64 = st.integers(-(2**63), 2**63 - 1)


def room(size: int = 64) -> NDArray[np.uint8]:
    return np.zeros(size, np.uint8)


@given(INT64)
def test_a_number_is_read_as_it_was_written(number: int) -> None:
    out = room()
    end = put_varint(out.ctypes.data, 3, number)
    assert end - 3 == varint_size(number) <= 10
    assert varint(out.ctypes.data, 3, end) == (number, end)


@pytest.mark.parametrize(("number", "size"), [(0, 1), (127, 1), (128, 2), (2**63 - 1, 9), (-1, 10)])
def test_how_many_bytes_a_number_takes(number: int, size: int) -> None:
    assert varint_size(number) == size


def test_a_number_that_is_cut_off_has_no_end() -> None:
    out = room()
    end = put_varint(out.ctypes.data, 0, 2**40)
    assert varint(out.ctypes.data, 0, end - 1)[1] == -1


@given(st.binary(max_size=300))
def test_bytes_behind_their_size(content: bytes) -> None:
    source, out = np.frombuffer(content or b"\0", np.uint8), room(400)
    end = put_sized(out.ctypes.data, 0, source.ctypes.data, 0, len(content))
    begin, stop = span(out.ctypes.data, 0, end)
    assert stop == end
    assert out[begin:stop].tobytes() == content
    assert span(out.ctypes.data, 0, end - 1)[1] == -1


def test_copies_and_big_endian_numbers_end_where_they_say() -> None:
    source, out = np.frombuffer(b"hello", np.uint8), room()
    assert copy(source.ctypes.data, 1, 3, out.ctypes.data, 2) == 5
    assert out[:6].tobytes() == b"\0\0ell\0"
    assert put_big_endian(out.ctypes.data, 0, 258) == 8
    assert out[:8].tobytes() == (258).to_bytes(8, "big")


@given(st.binary(max_size=40))
def test_it_chooses_the_partition_that_kafkas_clients_choose(content: bytes) -> None:
    data = np.frombuffer(content or b"\0", np.uint8)
    assert murmur2(data.ctypes.data, 0, len(content)) == plain_murmur2(content)


@given(st.binary(max_size=8))
def test_utf8_is_what_python_says(content: bytes) -> None:
    data = np.frombuffer(content or b"\0", np.uint8)
    try:
        content.decode()
    except UnicodeDecodeError:
        assert not utf8(data.ctypes.data, 0, len(content))
    else:
        assert utf8(data.ctypes.data, 0, len(content))
