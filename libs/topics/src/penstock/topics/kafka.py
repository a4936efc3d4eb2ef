"""Creates, verifies and describes the topics of a map.

In:  librdkafka's client settings and a map.
Out: topics as on the map, or an error that lists every difference; a description of what is there.
Any number of processes may do this at once. A topic that exists is never changed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.topics.admin import Admin
from penstock.topics.errors import TopicsDifferError, TopicsMissingError
from penstock.topics.shape import Shape, differences, shape
from penstock.topics.topic_map import TopicMap

TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Ensured:
    """What was done, by the topics' names in Kafka."""

    created: tuple[str, ...]
    verified: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LivePartition:
    """The offsets that a partition holds: from `first` up to, but without, `end`."""

    number: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class LiveTopic:
    """A topic of the map as it is in Kafka; without partitions where it does not exist."""

    name: str
    kafka_name: str
    partitions: tuple[LivePartition, ...]

    @property
    def exists(self) -> bool:
        """Whether Kafka has the topic."""
        return bool(self.partitions)

    @property
    def records(self) -> int:
        """How many offsets are held. Compaction and transactions leave gaps: then it is an upper bound."""
        return sum(partition.end - partition.first for partition in self.partitions)


def ensure(
    client_config: Mapping[str, str],
    topic_map: TopicMap,
    *,
    names: Iterable[str] | None = None,
    replication_factor: int = 1,
    timeout_s: float = TIMEOUT_S,
) -> Ensured:
    """Create the topics that are missing and verify the others: all, or those with these names on the map."""
    kafka_names = _kafka_names(topic_map, names)
    wanted = {name: shape(topic_map[own], replication_factor) for name, own in kafka_names.items()}
    admin = Admin(client_config, timeout_s)
    present = admin.replicas(wanted)
    # First, so that where something differs nothing is created either.
    _verify(admin, {name: wanted[name] for name in present})
    missing = {name: wanted[name] for name in wanted if name not in present}
    created = admin.create(missing)
    _wait_until_led(admin, missing)
    # Another process was faster with some, and may have had another map.
    _verify(admin, {name: missing[name] for name in missing if name not in created})
    return Ensured(
        created=tuple(name for name in wanted if name in created),
        verified=tuple(name for name in wanted if name not in created),
    )


def verify(
    client_config: Mapping[str, str],
    topic_map: TopicMap,
    *,
    names: Iterable[str] | None = None,
    timeout_s: float = TIMEOUT_S,
) -> None:
    """Raise unless the topics are there and as on the map: for services, which leave creating to others.

    How many replicas there are is for whoever created the topics to decide.
    """
    kafka_names = _kafka_names(topic_map, names)
    admin = Admin(client_config, timeout_s)
    wanted = {name: shape(topic_map[own], replication_factor=1) for name, own in kafka_names.items()}
    missing = sorted(wanted.keys() - admin.replicas(wanted).keys())
    if missing:
        raise TopicsMissingError(missing)
    _verify(admin, wanted)


def describe(
    client_config: Mapping[str, str],
    topic_map: TopicMap,
    *,
    names: Iterable[str] | None = None,
    timeout_s: float = TIMEOUT_S,
) -> list[LiveTopic]:
    """Say what Kafka holds of each topic, in the order of the map."""
    wanted = _kafka_names(topic_map, names)
    admin = Admin(client_config, timeout_s)
    counts = {name: len(replicas) for name, replicas in admin.replicas(wanted).items()}
    firsts, ends = admin.first_offsets(counts), admin.end_offsets(counts)
    return [
        LiveTopic(own, name, _live_partitions(firsts.get(name, []), ends.get(name, []))) for name, own in wanted.items()
    ]


def _kafka_names(topic_map: TopicMap, names: Iterable[str] | None) -> dict[str, str]:
    """Map names in Kafka to names on the map."""
    return {topic_map.kafka_name(name): name for name in (topic_map.topics if names is None else names)}


def _wait_until_led(admin: Admin, topics: Iterable[str]) -> None:
    """Whoever comes next, in this process or another, must find them all and a leader for every partition."""
    names = set(topics)
    admin.wait_until(lambda: admin.replicas(names).keys() == names)
    admin.end_offsets({name: len(replicas) for name, replicas in admin.replicas(names).items()})


def _verify(admin: Admin, wanted: Mapping[str, Shape]) -> None:
    found: dict[str, Shape] = {}

    def look() -> bool:
        found.update(admin.shapes(wanted.keys() - found.keys()))
        return found.keys() == wanted.keys()

    admin.wait_until(look)
    faults = [fault for name in wanted for fault in differences(name, wanted[name], found[name])]
    if faults:
        raise TopicsDifferError(faults)


def _live_partitions(firsts: list[int], ends: list[int]) -> tuple[LivePartition, ...]:
    pairs = enumerate(zip(firsts, ends, strict=True))
    return tuple(LivePartition(number, first, end) for number, (first, end) in pairs)
