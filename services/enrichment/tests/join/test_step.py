"""The join against a plain-Python oracle: any order of arrival, any abort, any restart ends in the same events."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from confluent_kafka import TopicPartition
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.enrichment.join.assembly import identity
from penstock.enrichment.join.emission import ENRICHED, RAW, REJECTED
from penstock.enrichment.join.horizon import Horizon
from penstock.enrichment.join.joiner import Joiner, plans_of
from penstock.enrichment.join.step import SEEN, JoinStep
from penstock.enrichment.steps import Output
from penstock.enrichment.tables import UPSERT, Change, History, Table, Version
from penstock.events.v1.event_pb2 import CLOCK_DOMAIN_WALL, CLOCK_METHOD_ECHO, EnrichmentStatus, Event
from penstock.events.v1.raw_batch_pb2 import RawBatch, RawBatchView, Stamp
from penstock.pipeline import Pipeline, example, load, loads
from penstock.tables.v1.row_change_pb2 import RowChange
from penstock.topics import load as load_topics

PIPELINE = load()
TOPICS = load_topics().for_tables(PIPELINE.tables)
NOW_US = 1_000_000_000
USERS = ["ann", "bob"]


@dataclass(frozen=True)
class Record:
    """As a consumer sees it."""

    name: str
    number: int
    place: int
    content: bytes | None
    name_of_row: bytes | None = None

    def topic(self) -> str:
        return self.name

    def partition(self) -> int:
        return self.number

    def offset(self) -> int:
        return self.place

    def key(self) -> bytes | None:
        return self.name_of_row

    def value(self) -> bytes | None:
        return self.content

    def timestamp(self) -> tuple[int, int]:
        return 1, NOW_US // 1000


@dataclass
class World:
    """A log in memory, with transactions; the tables, which always follow; and a step that may die."""

    log: list[Output] = field(default_factory=list)
    raw: list[Record] = field(default_factory=list)
    done: int = 0
    pipeline: Pipeline = PIPELINE
    now_us: int = NOW_US
    table: Table = field(default_factory=lambda: Table("profiles", History(100, 10**15)))
    changes: list[Change] = field(default_factory=list)
    step: JoinStep = field(init=False)
    horizon: Horizon = field(init=False)
    joiner: Joiner = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Everything in memory but the tables is lost."""
        plans = plans_of(self.pipeline, dict(TOPICS.tables))
        self.joiner = Joiner(plans, {"profiles": self.table})
        self.horizon = Horizon(events_max=1_000, age_us_max=10**9)
        self.step = JoinStep(
            pipeline=self.pipeline,
            topics=TOPICS,
            joiner=self.joiner,
            horizon=self.horizon,
            boots_max=100,
            read=self.read,
            now_us=lambda: self.now_us,
        )
        self.step.restore([TopicPartition(RAW, 0)])

    def read(
        self, topic: str, partitions: Collection[int] | None, since_ms: int | None, newest_max: int | None
    ) -> Iterable[Record]:
        for offset, output in enumerate(self.log):
            if output.topic == topic and (partitions is None or output.partition in partitions):
                yield Record(topic, output.partition or 0, offset, output.value, output.key)

    def publish(self, seqs: list[int], user: str, t_us: int) -> None:
        batch = RawBatch(device_id="d", boot_id="b")
        batch.stamp.CopyFrom(Stamp(received_us=NOW_US, method=CLOCK_METHOD_ECHO, domain=CLOCK_DOMAIN_WALL))
        batch.sent.wall_us = NOW_US - 1
        for seq in seqs:
            event = batch.events.add(type="page.viewed", seq=seq, attributes={"user": user, "page": "/"})
            event.occurred.wall_us = t_us + seq
        self.raw.append(Record(RAW, 0, len(self.raw), batch.SerializeToString()))

    def change(self, user: str, valid_from_us: int, name: str) -> None:
        version = Version(valid_from_us, name.encode())
        change = Change(user, UPSERT, {"country": name}, (), version)
        self.changes.append(change)
        applied = self.table.apply(change, 0, len(self.changes))
        if applied.changed:
            self.joiner.row_changed("profiles", applied.key)
            self.horizon.table_changed("profiles", applied)

    def round(self, records: int, *, commits: bool, restores: bool = True) -> None:
        """One transaction: of what is left to read, and of corrections that are due. It may be certain that it failed,
        and then what is remembered stays; or nobody can tell, and it is restored from the log."""
        messages = self.raw[self.done : self.done + records]
        outputs = [*self.step.process(messages), *self.step.due()]
        if commits:
            self.log += outputs
            self.done += len(messages)
            self.step.committed()
        else:
            self.step.rolled_back()
            if restores:
                self.step.forget([TopicPartition(RAW, 0)])
                self.step.restore([TopicPartition(RAW, 0)])

    def emitted(self) -> dict[tuple[str, str, str], list[Event]]:
        found: dict[tuple[str, str, str], list[Event]] = {}
        for output in self.log:
            if output.topic == ENRICHED:
                event = Event.FromString(output.value or b"")
                found.setdefault(identity(event), []).append(event)
        return found


ACTIONS = st.one_of(
    st.tuples(
        st.just("publish"),
        st.lists(st.integers(1, 12), min_size=1, max_size=4, unique=True),
        st.sampled_from(USERS),
        st.integers(100, 900),
    ),
    st.tuples(st.just("change"), st.sampled_from(USERS), st.integers(1, 1_000), st.text("abc", min_size=1, max_size=3)),
    st.tuples(st.just("round"), st.integers(0, 3), st.booleans(), st.booleans()),
    st.tuples(st.just("restart")),
)


@given(st.lists(ACTIONS, max_size=40))
@settings(max_examples=300)
def test_any_order_converges_to_the_oracle(actions: list[tuple[object, ...]]) -> None:
    world = World()
    for name, *arguments in actions:
        if name == "publish":
            world.publish(*arguments)  # type: ignore[arg-type]  # drawn above
        elif name == "change":
            world.change(*arguments)  # type: ignore[arg-type]
        elif name == "round":
            world.round(arguments[0], commits=bool(arguments[1]), restores=bool(arguments[2]))  # type: ignore[arg-type]
        else:
            world.restart()
    while world.done < len(world.raw) or world.step.has_due():
        world.round(10, commits=True)
    expected = first_of_each(world)
    emitted = world.emitted()
    assert emitted.keys() == expected.keys()
    for name, events in emitted.items():
        assert [event.revision for event in events] == list(range(len(events))), "one of each revision"
        final, (user, t_us) = events[-1], expected[name]
        (enrichment,) = final.enrichments
        assert final.clock.corrected_us == t_us
        assert (enrichment.status, dict(enrichment.columns)) == oracle(world.changes, user, t_us)


def first_of_each(world: World) -> dict[tuple[str, str, str], tuple[str, int]]:
    """Each identity once: the first in the log counts."""
    found: dict[tuple[str, str, str], tuple[str, int]] = {}
    for record in world.raw:
        for event in RawBatch.FromString(record.content or b"").events:
            found.setdefault(("d", "b", str(event.seq)), (event.attributes["user"], event.occurred.wall_us))
    return found


def oracle(changes: list[Change], user: str, t_us: int) -> tuple[int, dict[str, str]]:
    valid = [c for c in changes if c.key == user and c.version.valid_from_us <= t_us]
    if not valid:
        return EnrichmentStatus.ENRICHMENT_STATUS_MISSING, {}
    newest = max(valid, key=lambda change: change.version)
    return EnrichmentStatus.ENRICHMENT_STATUS_MATCHED, dict(newest.columns)


def outputs(world: World, topic: str) -> list[bytes]:
    return [output.value or b"" for output in world.log if output.topic == topic]


def test_an_event_keeps_its_own_bytes_and_gets_our_part() -> None:
    world = World()
    world.publish([1], "ann", 500)
    world.round(1, commits=True)
    (raw,) = RawBatchView.FromString(world.raw[0].content or b"").events
    (value,) = outputs(world, ENRICHED)
    assert value.startswith(raw)
    event = Event.FromString(value)
    assert (event.device_id, event.boot_id, event.key) == ("d", "b", "ann")
    assert event.clock.corrected_us == 501
    assert (event.source.topic, event.source.partition, event.source.offset) == (RAW, 0, 0)
    assert len(outputs(world, SEEN)) == 1


def test_events_of_declared_types_change_tables() -> None:
    world = World()
    batch = RawBatch(device_id="d", boot_id="b", stamp=Stamp(received_us=NOW_US))
    batch.events.add(type="post.created", seq=1, attributes={"author": "ann", "post_id": "p1", "text": "hi"})
    batch.events.add(type="post.deleted", seq=2, attributes={"author": "ann", "post_id": "p1"})
    world.raw.append(Record(RAW, 0, 0, batch.SerializeToString()))
    world.round(1, commits=True)
    created, deleted = (RowChange.FromString(value) for value in outputs(world, "tables.posts.v1"))
    assert (created.key, dict(created.columns)) == ("ann/p1", {"text": "hi"})
    assert (deleted.key, dict(deleted.columns)) == ("ann/p1", {})
    assert (created.op, deleted.op) == (1, 2)
    places = {output.partition for output in world.log if output.topic == "tables.posts.v1"}
    assert len(places) == 1, "rows of one author lie in one partition"


def test_what_cannot_be_read_is_set_aside_and_the_rest_goes_on() -> None:
    world = World()
    world.raw.append(Record(RAW, 0, 0, b"\xff\xff"))
    batch = RawBatch(device_id="d", boot_id="b", stamp=Stamp(received_us=NOW_US))
    batch.events.add(type="no.longer.declared", seq=1)
    batch.events.add(type="page.viewed", seq=2, attributes={"user": "ann", "page": "/"})
    world.raw.append(Record(RAW, 0, 1, batch.SerializeToString()))
    world.round(2, commits=True)
    assert len(outputs(world, REJECTED)) == 2
    assert len(outputs(world, ENRICHED)) == 1
    assert world.step.counts.rejected == {"malformed": 1, "unknown_type": 1}


def test_an_event_waits_for_its_table_but_not_for_ever() -> None:
    text = example("social").replace("as: user, columns: [country, plan]}", "as: user, wait_for_table: 2s}")
    world = World(pipeline=loads(text, "waiting"))
    world.now_us = NOW_US + 1_000_000
    world.publish([1], "ann", 500)
    assert world.step.must_wait(world.raw), "the table knows nothing of that time yet"
    world.change("ann", 499, "a")
    assert world.step.must_wait(world.raw)
    world.change("bob", 501, "b")
    assert not world.step.must_wait(world.raw), "the table has come as far as the event"
    world.publish([2], "ann", 900)
    assert world.step.must_wait(world.raw)
    world.now_us = NOW_US + 2_000_000
    assert not world.step.must_wait(world.raw), "it has waited long enough"
