"""What must be written, and where, for a dead letter to be tried again. Pure.

In:  a dead letter; the record that it came in, if Kafka still has that; the pipeline.
Out: a record for the topic that it came from, and why some of it is left out.
Guaranteed: nothing else is tried again. Of a batch of events only the refused ones are: the others are marked as
refused in the copy, so that they do not count twice even where enrichment has forgotten that it took them. An event
keeps its identity and a change its version, so that trying twice has the effect of once, and an old change does not
overwrite a newer one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from penstock.client.cli.letters import source_of
from penstock.client.cli.record import Record, Submission
from penstock.client.receipt import reason_name
from penstock.events.v1.event_pb2 import CLOCK_METHOD_RECEIVED, Event
from penstock.events.v1.raw_batch_pb2 import (
    REFUSAL_REASON_MISSING_ATTRIBUTE,
    REFUSAL_REASON_TOO_OLD,
    REFUSAL_REASON_UNKNOWN_TYPE,
    RawBatchView,
    RejectedBatch,
    Rejection,
    Stamp,
)
from penstock.pipeline import EventType
from penstock.tables.v1.rejected_change_pb2 import RejectedChange

RECEIVED_TIME = "dated by when it was received: the batch that it came in is not in the log"
# What pipeline.yaml can cure. The rest is for the device to send again, and better.
_CURABLE = {REFUSAL_REASON_UNKNOWN_TYPE, REFUSAL_REASON_MISSING_ATTRIBUTE}
_TOO_OLD = "TOO_OLD stays so: enrichment can no longer tell whether it took the event, and it must not count twice"
_DEVICE_FIELDS_MAX = 15


@dataclass(frozen=True, slots=True)
class Plan:
    """What to write, if anything; and in words what is left out, and what is not as it was."""

    submission: Submission | None
    entries: int = 0
    """How many events, or 1 for a change."""
    left_out: tuple[str, ...] = ()
    note: str = ""


def plan_change(change: RejectedChange, original: Record | None) -> Plan:
    """The record as it was: from its topic, which also knows the headers, or from the dead letter."""
    source = source_of(change.source)
    if not source.topic:
        return Plan(None, left_out=("it does not say which topic it came from",))
    key = change.key if change.HasField("key") else None
    value = change.value if change.HasField("value") else None
    if original is not None and _is_original(original, key, value, cut=change.value_cut):
        record = Submission(source.topic, source.partition, original.key, original.value, original.headers)
        return Plan(record, 1)
    if change.value_cut:
        return Plan(None, left_out=(f"its value was cut, and {source} no longer has the whole",))
    return Plan(Submission(source.topic, source.partition, key, value, []), 1)


def _is_original(original: Record, key: bytes | None, value: bytes | None, *, cut: bool) -> bool:
    """A topic that was deleted and made again has other records at the same offsets."""
    if cut:
        return original.value is not None and original.value.startswith(value or b"")
    return (original.key or b"").startswith(key or b"") and original.value == value


def plan_events(
    batch: RejectedBatch,
    wanted: Collection[int] | None,
    original: Record | None,
    raw_topic: str,
    event_types: Mapping[str, EventType],
) -> Plan:
    """`wanted` are indexes of the batch that the events came in; None: all that were refused."""
    chosen = [one for one in batch.rejections if wanted is None or one.index in wanted]
    tried = [one for one in chosen if one.reason != REFUSAL_REASON_TOO_OLD]
    hopeless = tuple(f"event {one.index}: {_TOO_OLD}" for one in chosen if one.reason == REFUSAL_REASON_TOO_OLD)
    plan = _plan(batch, tried, original, raw_topic, event_types) if tried else Plan(None)
    return replace(plan, left_out=hopeless + plan.left_out)


def _plan(
    batch: RejectedBatch,
    rejections: Sequence[Rejection],
    original: Record | None,
    raw_topic: str,
    event_types: Mapping[str, EventType],
) -> Plan:
    source = source_of(rejections[0].source) if rejections[0].HasField("source") else None
    if source is not None and not batch.device_id:
        # Not a batch at all: it can only be tried as it was.
        record = Submission(raw_topic, source.partition, None, rejections[0].event, [])
        return Plan(record if original is None else _as_it_was(record, original), 1)
    if source is not None and original is not None:
        value = _only(original.value or b"", rejections)
        if value is not None:
            record = Submission(raw_topic, source.partition, original.key, value, original.headers)
            return Plan(record, len(rejections))
    return _rebuilt(batch, rejections, raw_topic, None if source is None else source.partition, event_types)


def _as_it_was(record: Submission, original: Record) -> Submission:
    if original.value != record.value:
        return record
    return Submission(record.topic, record.partition, original.key, original.value, original.headers)


def _only(raw: bytes, rejections: Sequence[Rejection]) -> bytes | None:
    """The batch with all its other events marked as refused; None if it is another batch."""
    try:
        batch = RawBatchView.FromString(raw)
    except DecodeError:
        return None
    kept = {one.index for one in rejections}
    if any(one.index >= len(batch.events) or batch.events[one.index] != one.event for one in rejections):
        return None
    del batch.stamp.refused[:]
    batch.stamp.refused.extend(index for index in range(len(batch.events)) if index not in kept)
    return batch.SerializeToString()


def _rebuilt(
    batch: RejectedBatch,
    rejections: Sequence[Rejection],
    raw_topic: str,
    partition: int | None,
    event_types: Mapping[str, EventType],
) -> Plan:
    """A batch of these events alone. Ingestion does not see it, so that what it checks is checked here."""
    by_ingestion = partition is None
    faults = [(one, _fault(one, event_types, by_ingestion)) for one in rejections]
    fit = [one.event for one, fault in faults if fault is None]
    left_out = tuple(f"event {one.index}: {fault}" for one, fault in faults if fault is not None)
    if not fit:
        return Plan(None, left_out=left_out)
    stamp = Stamp(received_us=batch.received_us, method=CLOCK_METHOD_RECEIVED)
    view = RawBatchView(device_id=batch.device_id, boot_id=batch.boot_id, events=fit, stamp=stamp)
    record = Submission(raw_topic, partition, batch.device_id.encode(), view.SerializeToString(), [])
    return Plan(record, len(fit), left_out, RECEIVED_TIME)


def _fault(rejection: Rejection, event_types: Mapping[str, EventType], by_ingestion: bool) -> str | None:
    if by_ingestion and rejection.reason not in _CURABLE:
        return f"{reason_name(rejection.reason)} is for the device to mend and send again"
    try:
        event = Event.FromString(rejection.event)
    except DecodeError:
        return "its bytes are no event"
    declared = event_types.get(event.type)
    if declared is None:
        return f"type {event.type!r} is not declared in pipeline.yaml; name the mended one with --pipeline"
    if missing := [name for name in declared.required if not event.attributes.get(name)]:
        return f"{event.type} requires the attribute {missing[0]!r}, which it lacks"
    if not event.seq and not event.id:
        return "it has neither a sequence number nor an id"
    if len(UnknownFieldSet(event)) or any(field.number > _DEVICE_FIELDS_MAX for field, _ in event.ListFields()):
        return "it sets a field that only our services may set"
    return None
