"""Compiled and plain Python must come to the same: whatever a batch holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.enrichment.join.batch import Assembler
from penstock.enrichment.join.emission import ENRICHED, REJECTED, Counts, Emission
from penstock.enrichment.join.horizon import Horizon
from penstock.enrichment.join.joiner import Joiner, plans_of
from penstock.enrichment.join.seen import Seen
from penstock.enrichment.steps import Output
from penstock.enrichment.tables import UPSERT, Change, History, Table, Version
from penstock.events.v1.event_pb2 import CLOCK_DOMAIN_WALL, CLOCK_METHOD_ECHO, Clock, Event
from penstock.events.v1.raw_batch_pb2 import RawBatch, RejectedBatch, Stamp
from penstock.pipeline import Pipeline, load, loads
from penstock.tables.v1.row_change_pb2 import RowChange
from penstock.topics import load as load_topics

NOW_US = 1_800_000_000_000_000
DAY_US = 86_400_000_000
SOCIAL = load()
SEVERAL = loads(
    """
version: 1
tables:
  profiles: {about: Users., source: {debezium: {topic: cdc.p}}, key: user}
  links: {about: Who knows whom., source: {debezium: {topic: cdc.l}}, key: [a, b]}
event_types:
  met: {about: Two met., required: [a, b]}
enrichments:
  - {event_type: met, table: profiles, on: a, as: one}
  - {event_type: met, table: links, on: [a, b], as: link}
""",
    "several",
)


@dataclass(frozen=True)
class Record:
    content: bytes

    def topic(self) -> str:
        return "events.raw.v1"

    def partition(self) -> int:
        return 2

    def offset(self) -> int:
        return 77

    def key(self) -> bytes | None:
        return b""

    def value(self) -> bytes | None:
        return self.content

    def timestamp(self) -> tuple[int, int]:
        return 1, 0


class Nothing(Assembler):
    """As if nothing were usual."""

    def assemble(self, *_: object) -> None:
        return None


def world(pipeline: Pipeline, *, compiled: bool) -> tuple[Emission, Horizon]:
    topics = load_topics().for_tables(pipeline.tables)
    tables = {name: Table(name, History(10, 10**18)) for name in pipeline.tables}
    offset = 0
    for table in tables.values():
        for key in ("ann", "bob", "ann/bob"):
            for ago_us in (3 * DAY_US, 1_000):
                offset += 1
                version = Version(NOW_US - ago_us, b"%d" % offset)
                table.apply(Change(key, UPSERT, {"country": str(ago_us)}, (), version), 0, offset)
    horizon = Horizon(10_000, 10**12)
    emission = Emission(pipeline, topics, Joiner(plans_of(pipeline, dict(topics.tables)), tables), horizon)
    if not compiled:
        emission._assembler = Nothing(emission._assembler._declared)
    return emission, horizon


def read(output: Output) -> tuple[str, bytes | None, object, int | None]:
    """What must be the same; of rows of tables, every byte."""
    message: object = output.value
    if output.topic == ENRICHED:
        message = Event.FromString(output.value or b"")
    elif output.topic == REJECTED:
        message = RejectedBatch.FromString(output.value or b"")
    return output.topic, output.key, message, output.partition


def emitted(pipeline: Pipeline, batches: list[bytes], *, compiled: bool) -> tuple[list[object], Counts, list[object]]:
    emission, horizon = world(pipeline, compiled=compiled)
    seen, out = Seen(100), list[Output]()
    for batch in batches:
        emission.batch(Record(batch), seen, NOW_US, out)
    horizon.commit()
    queue: list[object] = [
        (event.key, Event.FromString(event.base), event.t_us, event.rows, event.enrichments) for event in horizon._queue
    ]
    return [read(output) for output in out], emission.staged, queue


TEXTS = st.one_of(st.sampled_from(["ann", "bob", "", "a/b", "100%", "ü"]), st.text(max_size=150))
TIMES = st.one_of(
    st.integers(NOW_US - 5 * DAY_US, NOW_US + DAY_US),
    st.sampled_from([0, 1, -5, 2**55, 2**56, 2**62, NOW_US - 200 * DAY_US]),
)
NAMES = st.sampled_from(["author", "post_id", "text", "language", "user", "page", "follower", "a", "b", "x"])


PLAIN = st.one_of(st.sampled_from(["ann", "bob", "", "ü"]), st.text("abc", max_size=150))
PAST = st.integers(NOW_US - 5 * DAY_US, NOW_US - 10)


@st.composite
def events(draw: st.DrawFn, kinds: list[str]) -> bytes:
    """Most of them usual in most ways."""

    def mostly(usual: st.SearchStrategy[Any], odd: st.SearchStrategy[Any]) -> Any:
        return draw(odd if draw(st.integers(0, 11)) == 0 else usual)

    event = Event(
        type=mostly(st.sampled_from(kinds), st.just("gone")),
        seq=mostly(st.integers(1, 12), st.sampled_from([0, 2**63])),
        attributes=draw(st.dictionaries(NAMES, mostly(st.just(PLAIN), st.just(TEXTS)), max_size=6)),
        id=mostly(st.just(""), st.just("an id")),
        boot_id=mostly(st.just(""), st.sampled_from(["b", "before"])),
        data=draw(st.binary(max_size=9)),
    )
    event.occurred.wall_us = mostly(PAST, TIMES)
    if draw(st.booleans()):
        event.occurred.steady_us = mostly(st.integers(0, 10**10), TIMES)
    raw = event.SerializeToString()
    odd = (
        raw[:-1],
        raw + b"\x0a\x01\xff",  # an id that is not UTF-8
        raw + Event(attributes={"author": "bob"}).SerializeToString(),  # once more: the last one counts
        raw + b"\x58\x01",  # a field of some later version
    )
    return bytes(mostly(st.just(raw), st.sampled_from(odd)))


@st.composite
def raw_batches(draw: st.DrawFn, kinds: list[str]) -> bytes:
    def mostly(usual: st.SearchStrategy[Any], odd: st.SearchStrategy[Any]) -> Any:
        return draw(odd if draw(st.integers(0, 11)) == 0 else usual)

    batch = RawBatch(device_id=draw(TEXTS), boot_id=draw(st.sampled_from(["b", ""])))
    batch.sent.wall_us = mostly(st.just(NOW_US - 10), TIMES)
    if draw(st.booleans()):
        batch.sent.steady_us = draw(st.integers(10**9, 10**10))
    small = st.integers(-(10**9), 10**9)
    batch.stamp.CopyFrom(
        Stamp(
            received_us=NOW_US,
            method=draw(st.integers(0, 4)),  # type: ignore[arg-type]  # numbers of an enum
            domain=mostly(st.sampled_from([1, 2]), st.just(0)),
            offset_us=mostly(small, st.just(2**60)),
            drift_ppm_max=draw(st.sampled_from([0, 200, 100_000])),
            refused=mostly(st.just(()), st.lists(st.integers(0, 3), max_size=2)),
        )
    )
    if draw(st.booleans()):
        batch.stamp.offset_min_us, batch.stamp.offset_max_us = sorted((draw(small), draw(small)))
    if draw(st.integers(0, 3)) == 0:
        batch.stamp.floor.seq = draw(st.integers(0, 5))
        batch.stamp.floor.device_us, batch.stamp.floor.corrected_us = mostly(PAST, TIMES), mostly(PAST, TIMES)
    if draw(st.integers(0, 11)) == 0:
        batch.stamp.prior.set_before_us = NOW_US
    head, found = batch.SerializeToString(), draw(st.lists(events(kinds), max_size=6))
    sizes = b"".join(b"\x32" + _varint(len(raw)) + raw for raw in found)
    return sizes + bytes(mostly(st.just(head), st.just(head[:-1])))


def _varint(number: int) -> bytes:
    return bytes((number,)) if number < 128 else bytes((number & 127 | 128,)) + _varint(number >> 7)


@pytest.mark.parametrize("pipeline", [SOCIAL, SEVERAL], ids=["social", "several"])
@settings(max_examples=100)
@given(data=st.data())
def test_compiled_and_plain_python_emit_the_same(pipeline: Pipeline, data: st.DataObject) -> None:
    batches = data.draw(st.lists(raw_batches(list(pipeline.event_types)), min_size=1, max_size=3))
    assert emitted(pipeline, batches, compiled=True) == emitted(pipeline, batches, compiled=False)


def test_usual_events_are_assembled_by_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or else the test above would compare Python with itself."""
    emission, _ = world(SOCIAL, compiled=True)
    monkeypatch.setattr(emission, "_unusual", None)
    batch = RawBatch(device_id="d", boot_id="b")
    batch.sent.wall_us = NOW_US - 10
    batch.stamp.CopyFrom(Stamp(received_us=NOW_US, method=CLOCK_METHOD_ECHO, domain=CLOCK_DOMAIN_WALL))
    for seq in range(1, 3_001):  # more than the buffers were made for
        attributes = {"author": "ann", "post_id": str(seq), "text": "x" * 500}
        batch.events.add(type="post.created", seq=seq, attributes=attributes).occurred.wall_us = NOW_US - 20
    out: list[Output] = []
    emission.batch(Record(batch.SerializeToString()), Seen(10), NOW_US, out)
    assert emission.staged.events == emission.staged.rows == 3_000
    assert {RowChange.FromString(one.value or b"").key for one in out if one.topic == "tables.posts.v1"} == {
        f"ann/{Event.FromString(one.value or b'').attributes['post_id']}" for one in out if one.topic == ENRICHED
    }


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("offsets_us", [None, (-40, 60), (0, 0)])
def test_the_time_of_a_row_is_bounded_as_that_of_its_event(offsets_us: tuple[int, int] | None, compiled: bool) -> None:
    batch = RawBatch(device_id="d", boot_id="b")
    batch.sent.wall_us = NOW_US - 10
    stamp = Stamp(received_us=NOW_US, method=CLOCK_METHOD_ECHO, domain=CLOCK_DOMAIN_WALL, drift_ppm_max=200)
    if offsets_us is not None:
        stamp.offset_min_us, stamp.offset_max_us = offsets_us
    batch.stamp.CopyFrom(stamp)
    for seq, (kind, ago_us) in enumerate([("post.created", 10), ("follow.deleted", DAY_US), ("post.deleted", 20)], 1):
        attributes = {"author": "ann", "post_id": "1", "follower": "bob"}
        batch.events.add(type=kind, seq=seq, attributes=attributes).occurred.wall_us = NOW_US - ago_us
    emission, _ = world(SOCIAL, compiled=compiled)
    out: list[Output] = []
    emission.batch(Record(batch.SerializeToString()), Seen(10), NOW_US, out)
    clocks = [Event.FromString(one.value or b"").clock for one in out if one.topic == ENRICHED]
    rows = [RowChange.FromString(one.value or b"") for one in out if one.topic.startswith("tables.")]
    assert [row.version.valid_from_us for row in rows] == [clock.corrected_us for clock in clocks]
    assert [_bound(row) for row in rows] == [_bound(clock) for clock in clocks]
    assert [_bound(row) is None for row in rows] == [offsets_us is None] * 3


def _bound(timed: RowChange | Clock) -> int | None:
    return timed.error_bound_us if timed.HasField("error_bound_us") else None


@pytest.mark.parametrize("compiled", [True, False])
def test_what_would_be_larger_than_a_record_may_be_is_set_aside(compiled: bool) -> None:
    batch = RawBatch(device_id="d", boot_id="b")
    batch.sent.wall_us = NOW_US - 10
    batch.stamp.CopyFrom(Stamp(received_us=NOW_US, method=CLOCK_METHOD_ECHO, domain=CLOCK_DOMAIN_WALL))
    for seq in (1, 2):
        attributes = {"user": "ann", "page": "x" * (600 if seq == 1 else 1)}
        batch.events.add(type="page.viewed", seq=seq, attributes=attributes).occurred.wall_us = NOW_US - 20
    emission, _ = world(SOCIAL, compiled=compiled)
    emission.bytes_max = 700
    out: list[Output] = []
    emission.batch(Record(batch.SerializeToString()), Seen(10), NOW_US, out)
    assert [one.topic for one in out] == [ENRICHED, REJECTED]
    assert emission.staged.rejected == {"too_large": 1}
    assert emission.staged.events == 1


@pytest.mark.parametrize("value", [b"", b"\xa2\x06\x03abc", RawBatch(device_id="d").SerializeToString()])
def test_what_ingestion_did_not_write_is_set_aside(value: bytes) -> None:
    emission, _ = world(SOCIAL, compiled=True)
    out: list[Output] = []
    emission.batch(Record(value), Seen(10), NOW_US, out)
    assert [one.topic for one in out] == [REJECTED]
