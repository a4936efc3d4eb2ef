from __future__ import annotations

import pytest
from penstock.client.cli.record import Record, Submission
from penstock.client.cli.resubmission import RECEIVED_TIME, plan_change, plan_events
from penstock.client.place import Place
from penstock.events.v1.event_pb2 import CLOCK_METHOD_ECHO, CLOCK_METHOD_RECEIVED, DeviceTime, Event, Position
from penstock.events.v1.raw_batch_pb2 import (
    REFUSAL_REASON_DATA_SIZE,
    REFUSAL_REASON_MALFORMED,
    REFUSAL_REASON_MISSING_ATTRIBUTE,
    REFUSAL_REASON_TOO_OLD,
    REFUSAL_REASON_UNKNOWN_TYPE,
    RawBatch,
    RefusalReason,
    RejectedBatch,
    Rejection,
    Stamp,
)
from penstock.pipeline import EventType
from penstock.tables.v1.rejected_change_pb2 import RejectedChange

RAW = "p-events.raw.v1"
TYPES = {"page.viewed": EventType(about="A page.", required=("user",))}
EVENTS = [Event(type="page.viewed", seq=seq, attributes={"user": "ann"}) for seq in (1, 2, 3, 4)]
BATCH = RawBatch(
    device_id="phone",
    boot_id="b",
    sent=DeviceTime(wall_us=5),
    clock_token=b"token",
    events=EVENTS,
    stamp=Stamp(received_us=9, method=CLOCK_METHOD_ECHO, offset_us=4, refused=[0]),
)
ORIGINAL = Record(Place(RAW, 3, 17), 1, b"phone", BATCH.SerializeToString(), [("h", b"1")])
SOURCE = Position(topic="events.raw.v1", partition=3, offset=17)


def refused(
    *indexes: int,
    source: Position | None = SOURCE,
    reason: RefusalReason.ValueType = REFUSAL_REASON_MALFORMED,
) -> RejectedBatch:
    rejections = [
        Rejection(index=index, reason=reason, event=EVENTS[index].SerializeToString(), source=source)
        for index in indexes
    ]
    return RejectedBatch(device_id="phone", boot_id="b", received_us=9, rejections=rejections)


def batch_of(submission: Submission | None) -> RawBatch:
    assert submission is not None
    return RawBatch.FromString(submission.value or b"")


def test_the_batch_as_it_was_with_all_other_events_marked_as_refused() -> None:
    plan = plan_events(refused(1, 2), None, ORIGINAL, RAW, {})
    assert (plan.entries, plan.left_out, plan.note) == (2, (), "")
    assert plan.submission is not None
    assert (plan.submission.topic, plan.submission.partition) == (RAW, 3)
    assert (plan.submission.key, plan.submission.headers) == (b"phone", [("h", b"1")])
    again = batch_of(plan.submission)
    assert list(again.stamp.refused) == [0, 3]
    again.stamp.refused[:] = [0]
    assert again == BATCH, "nothing else has changed: its times will be the same"


def test_only_the_events_that_are_wanted() -> None:
    plan = plan_events(refused(1, 2), {2}, ORIGINAL, RAW, {})
    assert (plan.entries, list(batch_of(plan.submission).stamp.refused)) == (1, [0, 1, 3])


def test_what_may_have_been_taken_is_not_tried_again() -> None:
    batch = refused(1, 2)
    batch.rejections[0].reason = REFUSAL_REASON_TOO_OLD
    plan = plan_events(batch, None, ORIGINAL, RAW, {})
    assert (plan.entries, list(batch_of(plan.submission).stamp.refused)) == (1, [0, 1, 3])
    (left_out,) = plan.left_out
    assert left_out.startswith("event 1: TOO_OLD stays so")
    assert plan_events(batch, {1}, ORIGINAL, RAW, {}).submission is None


@pytest.mark.parametrize("value", [b"\xff", RawBatch(device_id="other").SerializeToString(), None])
def test_a_batch_that_is_gone_is_built_again_without_its_clock(value: bytes | None) -> None:
    original = None if value is None else ORIGINAL._replace(value=value)
    plan = plan_events(refused(1), None, original, RAW, TYPES)
    assert (plan.entries, plan.note) == (1, RECEIVED_TIME)
    assert plan.submission is not None
    assert (plan.submission.partition, plan.submission.key) == (3, b"phone")
    stamp = Stamp(received_us=9, method=CLOCK_METHOD_RECEIVED)
    assert batch_of(plan.submission) == RawBatch(device_id="phone", boot_id="b", events=[EVENTS[1]], stamp=stamp)


def test_what_is_not_a_batch_is_tried_as_it_was() -> None:
    rejection = Rejection(reason=REFUSAL_REASON_MALFORMED, event=b"\xff", source=SOURCE)
    plan = plan_events(RejectedBatch(rejections=[rejection]), None, ORIGINAL._replace(value=b"\xff"), RAW, {})
    assert plan.submission == Submission(RAW, 3, b"phone", b"\xff", [("h", b"1")])
    gone = plan_events(RejectedBatch(rejections=[rejection]), None, None, RAW, {})
    assert gone.submission == Submission(RAW, 3, None, b"\xff", [])


@pytest.mark.parametrize("reason", [REFUSAL_REASON_UNKNOWN_TYPE, REFUSAL_REASON_MISSING_ATTRIBUTE])
def test_what_ingestion_refused_may_be_cured_by_the_pipeline(reason: RefusalReason.ValueType) -> None:
    plan = plan_events(refused(1, source=None, reason=reason), None, None, RAW, TYPES)
    assert plan.submission is not None
    assert (plan.submission.partition, plan.entries, plan.note) == (None, 1, RECEIVED_TIME)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (Event(type="nope", seq=1), "type 'nope' is not declared"),
        (Event(type="page.viewed", seq=1, attributes={"user": ""}), "requires the attribute 'user'"),
        (Event(type="page.viewed", attributes={"user": "ann"}), "neither a sequence number nor an id"),
        (Event(type="page.viewed", seq=1, attributes={"user": "ann"}, device_id="x"), "only our services may set"),
        (b"\xff", "no event"),
    ],
)
def test_what_ingestion_would_refuse_again_is_left_out(event: Event | bytes, words: str) -> None:
    batch = refused(1, source=None, reason=REFUSAL_REASON_UNKNOWN_TYPE)
    raw = event if isinstance(event, bytes) else event.SerializeToString()
    batch.rejections.append(Rejection(index=9, reason=REFUSAL_REASON_UNKNOWN_TYPE, event=raw))
    plan = plan_events(batch, None, None, RAW, TYPES)
    assert (plan.entries, len(plan.left_out)) == (1, 1)
    assert plan.left_out[0].startswith("event 9: ")
    assert words in plan.left_out[0]


def test_an_unknown_field_is_left_out() -> None:
    batch = refused(1, source=None, reason=REFUSAL_REASON_UNKNOWN_TYPE)
    batch.rejections[0].event += b"\xa2\x06\x00"  # field 100
    assert plan_events(batch, None, None, RAW, TYPES).submission is None


def test_what_the_device_must_mend_is_left_out() -> None:
    plan = plan_events(refused(1, source=None, reason=REFUSAL_REASON_DATA_SIZE), None, None, RAW, TYPES)
    assert plan.submission is None
    assert plan.left_out == ("event 1: DATA_SIZE is for the device to mend and send again",)


CHANGE = RejectedChange(source=Position(topic="cdc", partition=1, offset=2), key=b"k", value=b"v")
CHANGED = Record(Place("cdc", 1, 2), 1, b"k", b"v", [("h", None)])


def test_a_change_is_written_as_it_was() -> None:
    assert plan_change(CHANGE, CHANGED).submission == Submission("cdc", 1, b"k", b"v", [("h", None)])


@pytest.mark.parametrize("original", [None, CHANGED._replace(value=b"other"), CHANGED._replace(key=b"other")])
def test_a_change_whose_topic_no_longer_has_it(original: Record | None) -> None:
    assert plan_change(CHANGE, original).submission == Submission("cdc", 1, b"k", b"v", [])


def test_a_tombstone_without_a_key() -> None:
    change = RejectedChange(source=Position(topic="cdc", partition=1, offset=2))
    assert plan_change(change, None).submission == Submission("cdc", 1, None, None, [])


def test_a_cut_change_needs_its_topic() -> None:
    cut = RejectedChange()
    cut.CopyFrom(CHANGE)
    cut.value_cut = True
    whole = plan_change(cut, CHANGED._replace(value=b"value")).submission
    assert whole is not None
    assert whole.value == b"value"
    gone = plan_change(cut, None)
    assert (gone.submission, gone.left_out) == (None, ("its value was cut, and cdc:1:2 no longer has the whole",))


def test_a_change_from_nowhere() -> None:
    assert plan_change(RejectedChange(), None).left_out == ("it does not say which topic it came from",)
