"""The laws that tie topics together.

In:  topics that are sound by themselves, and the documented cycles.
Out: what breaks a law, each at its place in the map.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from penstock.document import Misfit
from penstock.topics.graph import arrows, turned, ways_round
from penstock.topics.schema import HISTORY, PLACEHOLDERS, Cycle, Topic


def misfits(topics: Mapping[str, Topic], cycles: Sequence[Cycle]) -> Iterator[Misfit]:
    """Check every law."""
    yield from _one_template_each(topics)
    yield from _history_of_tables(topics)
    yield from _partitioned_alike(topics)
    yield from _dead_letters_written(topics)
    yield from _flow_one_way(topics, cycles)


def undocumented_cycles(topics: Mapping[str, Topic], cycles: Iterable[Cycle]) -> list[tuple[str, ...]]:
    """Find the ways round that the map does not document."""
    documented = {turned(cycle.path) for cycle in cycles}
    return [cycle for cycle in ways_round(arrows(topics)) if cycle not in documented]


def _one_template_each(topics: Mapping[str, Topic]) -> Iterator[Misfit]:
    """A table has one topic."""
    for placeholder in PLACEHOLDERS:
        first, *others = [name for name in topics if placeholder in name] or [""]
        for name in others:
            yield Misfit(f"stands for the same tables as {first}", "let each table have one topic", ("topics", name))


def _history_of_tables(topics: Mapping[str, Topic]) -> Iterator[Misfit]:
    """Only tables have a history of which pipeline.yaml says how long it is kept."""
    for name, topic in topics.items():
        if topic.compaction_lag == HISTORY and not any(placeholder in name for placeholder in PLACEHOLDERS):
            problem = f"is {HISTORY}, but only topics of tables have one"
            yield Misfit(problem, "say how long, such as 30d", ("topics", name, "compaction_lag"))


def _partitioned_alike(topics: Mapping[str, Topic]) -> Iterator[Misfit]:
    """Topics partitioned by the same column meet shard by shard: they need equally many partitions."""
    first: dict[str, str] = {}
    for name, topic in topics.items():
        if topic.partitioned_by is None:
            continue
        other = first.setdefault(topic.partitioned_by, name)
        if topics[other].partitions != topic.partitions:
            problem = f"is {topic.partitions}, but {other} is partitioned by {topic.partitioned_by} too"
            remedy = f"should be {topics[other].partitions}, as there"
            yield Misfit(problem, remedy, ("topics", name, "partitions"))


def _dead_letters_written(topics: Mapping[str, Topic]) -> Iterator[Misfit]:
    """A consumer that sets records aside writes them somewhere: it is a producer of the dead letters."""
    for name, topic in topics.items():
        if topic.dead_letters is None:
            continue
        writers = topics[topic.dead_letters].producers
        for consumer in topic.consumers:
            if consumer not in writers:
                problem = f"{consumer} reads {name} but is not a producer of {topic.dead_letters}"
                remedy = f"add {consumer} to the producers there, or say none"
                yield Misfit(problem, remedy, ("topics", name, "dead_letters"))


def _flow_one_way(topics: Mapping[str, Topic], cycles: Sequence[Cycle]) -> Iterator[Misfit]:
    """Data flows one way, except where the map says why it does not; and it says so of nothing else."""
    for cycle in undocumented_cycles(topics, cycles):
        way = " → ".join((*cycle, cycle[0]))
        yield Misfit(f"the cycle {way} is not documented", "list it with the reason why it ends", ("cycles",))
    graph = set(arrows(topics))
    for index, documented in enumerate(cycles):
        path = documented.path
        for arrow in zip(path, (*path[1:], path[0]), strict=True):
            if arrow not in graph:
                problem = f"{arrow[0]} does not flow into {arrow[1]}"
                yield Misfit(problem, "list the steps and topics of a cycle in order", ("cycles", index, "path"))
