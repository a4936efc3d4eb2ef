"""Which partition a value belongs to.

In:  the bytes of a record's key, or of the column that a table is partitioned by.
Out: the partition that Kafka's Java clients, and librdkafka with `partitioner=murmur2_random`, choose for such a key.
Pure. Whoever chooses partitions explicitly chooses the same as those who leave it to the client.
"""

import struct

_SEED = 0x9747B28C
_FACTOR = 0x5BD1E995
_WORD = 0xFFFFFFFF
_POSITIVE = 0x7FFFFFFF


def murmur2_partition(value: bytes, partitions: int) -> int:
    """Choose one of so many partitions."""
    if partitions < 1:
        raise ValueError(f"a topic has at least one partition, not {partitions}")
    return (murmur2(value) & _POSITIVE) % partitions


def murmur2(value: bytes) -> int:
    """Hash with the 32-bit MurmurHash2 of Kafka, unsigned."""
    length = len(value)
    whole = length & ~3
    state = _SEED ^ length
    for (word,) in struct.iter_unpack("<I", value[:whole]):
        mixed = word * _FACTOR & _WORD
        state = state * _FACTOR & _WORD ^ (mixed ^ mixed >> 24) * _FACTOR & _WORD
    if whole < length:
        state = (state ^ int.from_bytes(value[whole:], "little")) * _FACTOR & _WORD
    state = (state ^ state >> 13) * _FACTOR & _WORD
    return state ^ state >> 15
