"""Whether timelines show all that is in the tables' logs.

In:  where the logs of posts, follows and refill requests end; how far the join says that it has come; what the timeline
     service holds.
Out: yes or no. Offsets are compared, so that "nothing seems to happen" is never taken for an answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.client import TimelinePartition, TimelinesState
from penstock.pipeline import Pipeline
from penstock.timeline.v1.delivery_pb2 import JoinProgress
from penstock.topics import load
from penstock.topics.kafka import describe

PROGRESS = "timeline.progress.v1"
_REFILLS = "timeline.refills.v1"

At = tuple[str, int]
"""A topic and a partition."""


@dataclass
class Reached:
    """How far the join has come: for each partition the last offset that it reflects, and that it has written."""

    reflects: Mapping[At, int] = field(default_factory=dict)
    delivered: Mapping[int, int] = field(default_factory=dict)

    def take(self, record: bytes) -> None:
        """A record of timeline.progress.v1."""
        told = JoinProgress.FromString(record)
        self.reflects = {(at.topic, at.partition): at.offset for at in told.reflects}
        self.delivered = {at.partition: at.offset for at in told.delivered}


def ends(bootstrap: str, pipeline: Pipeline) -> dict[At, int]:
    """The last offset of every partition that the join reads and that holds something."""
    topics = load().for_tables(pipeline.tables)
    timeline = pipeline.timeline
    if timeline is None:
        return {}
    names = [topics.tables[timeline.posts.table], topics.tables[timeline.follows.table], _REFILLS]
    live = describe({"bootstrap.servers": bootstrap}, topics, names=names)
    return {
        (name, part.number): part.end - 1
        for name, topic in zip(names, live, strict=True)
        for part in topic.partitions
        if part.end > part.first
    }


def behind(last: Mapping[At, int], reached: Reached) -> int:
    """How many records of the logs deliveries do not reflect yet."""
    return sum(max(0, offset - reached.reflects.get(at, -1)) for at, offset in last.items())


def is_caught_up(last: Mapping[At, int], reached: Reached, state: TimelinesState) -> bool:
    """`state` is of the only replica."""
    return behind(last, reached) == 0 and all(
        _applied(partition) >= reached.delivered.get(partition.number, -1) and not partition.refilling
        for partition in state.partitions
    )


def _applied(partition: TimelinePartition) -> int:
    return max((place.offset for place in partition.applied), default=-1)
