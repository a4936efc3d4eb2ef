"""How far the join of posts and follows has come.

In:  the records of timeline.progress.v1; the newest of each query counts.
Out: whether deliveries reflect given records of the tables' topics, and if so, up to where a timeline partition must be
     applied to show them.
A query that starts with a new checkpoint begins at the start again, and so does what is known of it. Of two processes
that run one query, the one that began later counts: the deliveries of the other are dropped too.
Use from one thread, or with whole objects: `take` replaces, nothing is changed in place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from google.protobuf.message import DecodeError
from penstock.timeline.v1.delivery_pb2 import JoinProgress
from penstock.timelines.errors import BrokenLogError

Place = tuple[str, int]  # a topic, by its name on the map, and a partition


@dataclass(frozen=True, slots=True)
class Reached:
    """One query: the last offset of each place that is reflected, and that was written."""

    started_us: int
    reflects: Mapping[Place, int]
    delivered: Mapping[Place, int]

    def covers(self, wanted: Mapping[Place, int]) -> bool:
        return all(self.reflects.get(place, -1) >= offset for place, offset in wanted.items())


class Progress:
    """`prefix` stands before topics' names in Kafka; whoever writes progress may say it or not."""

    def __init__(self, deliveries: str, prefix: str = "") -> None:
        self._deliveries = deliveries
        self._prefix = prefix
        self._queries: dict[str, Reached] = {}

    def take(self, record: bytes | None, key: bytes | None) -> None:
        """A record of the topic; one without a value ends what is known of its key's query."""
        if record is None:
            queries = {name: reached for name, reached in self._queries.items() if name.encode() != key}
        else:
            try:
                told = JoinProgress.FromString(record)
            except DecodeError as error:
                raise BrokenLogError("a record of timeline.progress.v1 is no JoinProgress") from error
            known = self._queries.get(told.query)
            if known is not None and told.started_us < known.started_us:
                return
            reached = Reached(
                told.started_us,
                {(self._named(at.topic), at.partition): at.offset for at in told.reflects},
                {(self._named(at.topic), at.partition): at.offset for at in told.delivered},
            )
            queries = {**self._queries, told.query: reached}
        self._queries = queries  # whole: another thread may be reading

    def needed(self, wanted: Mapping[Place, int], partition: int) -> int | None:
        """The last offset of the timeline partition that shows these records; -1: nothing; None: not known yet."""
        place = (self._deliveries, partition)
        ready = [reached for reached in self._queries.values() if reached.covers(wanted)]
        return min((reached.delivered.get(place, -1) for reached in ready), default=None)

    def _named(self, topic: str) -> str:
        return topic.removeprefix(self._prefix) if self._prefix else topic
