"""Lists, shows and re-submits dead letters.

In:  both dead-letter topics of a Kafka, and what the user wants of them.
Out: letters newest first; one of them in full; records written back to the topics that the letters came from.
The dead letters themselves stay where they are, until their topics' retention ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import merge
from itertools import islice

from penstock.client.cli.letters import RAW, TOPICS, Letter, Rejected, decoded, letters_of, source_of
from penstock.client.cli.record_writer import RecordWriter
from penstock.client.cli.records import Records, RecordsError
from penstock.client.cli.resubmission import Plan, plan_change, plan_events
from penstock.client.place import Place
from penstock.pipeline import EventType
from penstock.tables.v1.rejected_change_pb2 import RejectedChange
from penstock.topics import TopicMap

SCANNED_MAX = 200_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which letters."""

    reason: str | None = None
    since_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one dead letter that was to be re-submitted."""

    place: Place
    plan: Plan
    written: Place | None


class DeadLetters:
    """The dead letters of one Kafka."""

    def __init__(self, records: Records, topics: TopicMap) -> None:
        self._records = records
        self._topics = topics
        self._own_names = {topics.kafka_name(name): name for name in (*TOPICS, RAW)}

    def newest(self, wanted: Wanted) -> Iterator[Letter]:
        """Newest first. Looks at no more than SCANNED_MAX records of each topic."""
        every = merge(*(self._of(name, wanted.since_ms) for name in TOPICS), key=lambda letter: -letter.time_us)
        yield from (letter for letter in every if wanted.reason in {None, letter.reason})

    def _of(self, name: str, since_ms: int | None) -> Iterator[Letter]:
        for record in islice(self._records.newest_first(self._topics.kafka_name(name), since_ms), SCANNED_MAX):
            yield from letters_of(self._shown(record.place), record.time_ms * 1000, decoded(name, record.value))

    def at(self, place: Place) -> tuple[Place, int, Rejected | None]:
        """The record at a place: the place by the map's name, its time, what it says."""
        name = self._own_names.get(place.topic, place.topic)
        if name not in TOPICS:
            raise RecordsError(f"{place.topic} has no dead letters; they are in {' and '.join(TOPICS)}")
        record = self._records.at(place._replace(topic=self._topics.kafka_name(name)))
        if record is None:
            raise RecordsError(f"there is no dead letter at {place}; `penstock dead-letters list` shows where they are")
        return self._shown(record.place), record.time_ms * 1000, decoded(name, record.value)

    def resubmit(
        self, indexes: Mapping[Place, set[int] | None], writer: RecordWriter, event_types: Mapping[str, EventType]
    ) -> Iterator[Outcome]:
        """Writes what these letters came from once more, in the order given; of a record all events, or those named."""
        for place, wanted in indexes.items():
            shown, _, said = self.at(place)
            plan = self._plan(said, wanted, event_types)
            written = None if plan.submission is None else self._shown(writer.write(plan.submission))
            yield Outcome(shown, plan, written)

    def _plan(self, said: Rejected | None, wanted: set[int] | None, event_types: Mapping[str, EventType]) -> Plan:
        if said is None:
            return Plan(None, left_out=("the dead letter itself cannot be read",))
        raw = self._topics.kafka_name(RAW)
        source = said.source if isinstance(said, RejectedChange) else said.rejections[0].source
        topic = source.topic if isinstance(said, RejectedChange) else raw
        if topic and not self._records.has(topic):
            return Plan(None, left_out=(f"Kafka has no topic {topic}, which it came from",))
        original = self._records.at(source_of(source)._replace(topic=topic)) if source.topic else None
        if isinstance(said, RejectedChange):
            return plan_change(said, original)
        return plan_events(said, wanted, original, raw, event_types)

    def _shown(self, place: Place) -> Place:
        """By the name on the map where there is one, as tokens and dead letters themselves do."""
        return place._replace(topic=self._own_names.get(place.topic, place.topic))
