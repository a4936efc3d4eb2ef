"""The flow as a graph: step → topic → step.

In:  topics with their producers and consumers.
Out: its arrows, and every way round.
Steps and topics are nodes alike; their spellings never collide, because only topics have dots.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

Arrow = tuple[str, str]


class Flow(Protocol):
    """What the graph needs to know of a topic."""

    @property
    def producers(self) -> Sequence[str]:
        """The steps that write it."""

    @property
    def consumers(self) -> Sequence[str]:
        """The steps that read it."""


def arrows(topics: Mapping[str, Flow]) -> list[Arrow]:
    """List every arrow: from producers to their topics and from topics to their consumers."""
    found: list[Arrow] = []
    for name, topic in topics.items():
        found += [(producer, name) for producer in topic.producers]
        found += [(name, consumer) for consumer in topic.consumers]
    return found


def ways_round(graph: Iterable[Arrow]) -> list[tuple[str, ...]]:
    """List every elementary cycle, each turned as `turned` does."""
    targets: dict[str, set[str]] = defaultdict(set)
    for source, target in graph:
        targets[source].add(target)
    return [cycle for start in sorted(targets) for cycle in _ways_round_from(start, targets)]


def turned(cycle: Sequence[str]) -> tuple[str, ...]:
    """Turn a cycle so that it starts at its alphabetically first node: equal cycles become equal tuples."""
    first = cycle.index(min(cycle))
    return (*cycle[first:], *cycle[:first])


def _ways_round_from(start: str, targets: Mapping[str, set[str]]) -> Iterator[tuple[str, ...]]:
    """Walk from `start` over nodes that come after it in the alphabet, back to `start`.

    Every cycle is found once, from its first node. Nodes that cannot lead back are left out beforehand, so
    that a flow without cycles is not walked at all.
    """
    returning = _sources_of(start, targets)
    paths: list[tuple[str, ...]] = [(start,)]
    while paths:
        path = paths.pop()
        for target in sorted(targets.get(path[-1], ())):
            if target == start:
                yield path
            elif target > start and target in returning and target not in path:
                paths.append((*path, target))


def _sources_of(node: str, targets: Mapping[str, set[str]]) -> set[str]:
    """Name the nodes from which `node` can be reached."""
    reached: set[str] = set()
    grown = True
    while grown:
        sources = {source for source, to in targets.items() if node in to or not reached.isdisjoint(to)}
        grown = not sources <= reached
        reached |= sources
    return reached
