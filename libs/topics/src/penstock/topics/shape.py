"""What Kafka must be told about a topic, and whether it is so.

In:  a topic of the map, and the shape that Kafka says it has.
Out: the shape that it must have, and every difference.
Pure: Kafka is asked elsewhere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.document import milliseconds
from penstock.topics.errors import Difference
from penstock.topics.schema import UNLIMITED, Topic

_SAFE_REPLICAS = 3


@dataclass(frozen=True, slots=True)
class Shape:
    """Partitions, replicas of each partition, and settings of a topic in Kafka."""

    partitions: int
    replicas: int
    settings: Mapping[str, str]


def shape(topic: Topic, replication_factor: int) -> Shape:
    """Say everything that penstock relies on, so that no broker's default decides."""
    settings = {
        "cleanup.policy": topic.cleanup,
        "retention.ms": str(topic.retention_ms),
        "max.message.bytes": str(topic.max_message_bytes),
    }
    if topic.retention == UNLIMITED:
        # A broker's default limit on size would delete from a log that must stay whole.
        settings["retention.bytes"] = "-1"
    if topic.compaction_lag is not None:
        # Or else a table that is read from the beginning would lack the past that others remember.
        settings["min.compaction.lag.ms"] = str(milliseconds(topic.compaction_lag))
    if replication_factor >= _SAFE_REPLICAS:
        # With acks=all: what was acknowledged survives the loss of a broker, and writing goes on without one.
        settings["min.insync.replicas"] = str(replication_factor - 1)
    return Shape(topic.partitions, replication_factor, settings)


def differences(name: str, expected: Shape, found: Shape) -> Iterator[Difference]:
    """Compare. More replicas than asked for, and settings that penstock does not rely on, are no fault."""
    if found.partitions != expected.partitions:
        yield Difference(name, "partitions", str(expected.partitions), str(found.partitions))
    if found.replicas < expected.replicas:
        yield Difference(name, "replicas", f"at least {expected.replicas}", str(found.replicas))
    for setting, value in expected.settings.items():
        other = found.settings.get(setting, "unknown")
        if _words(other) != _words(value):
            yield Difference(name, setting, value, other)


def _words(value: str) -> set[str]:
    """Take a list such as cleanup.policy for what it is: its order says nothing."""
    return {word.strip() for word in value.split(",")}
