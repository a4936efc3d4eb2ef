import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.topics import murmur2_partition
from penstock.topics.partitioning import murmur2


# The values that Kafka's own clients are tested with, as signed numbers. integration-tests/test_topics.py compares with
# what librdkafka does on a real Kafka.
@pytest.mark.parametrize(
    ("value", "signed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_kafkas(value: bytes, signed: int) -> None:
    assert murmur2(value) == signed % 2**32


def test_a_negative_hash_is_made_positive_by_its_lower_bits() -> None:
    assert murmur2_partition(b"foobar", 1000) == (-790332482 & 0x7FFFFFFF) % 1000


@given(st.binary(max_size=40), st.integers(1, 1000))
def test_a_partition_is_one_of_those_there_are(value: bytes, partitions: int) -> None:
    assert 0 <= murmur2_partition(value, partitions) < partitions


def test_without_partitions_there_is_none_to_choose() -> None:
    with pytest.raises(ValueError, match="at least one partition"):
        murmur2_partition(b"x", 0)
