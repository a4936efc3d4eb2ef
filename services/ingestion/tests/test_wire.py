"""The compiled walk against protobuf's own parser: whatever the bytes, both must say the same."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import example, given, settings
from hypothesis import strategies as st
from penstock.events.v1.event_pb2 import DeviceTime, Event
from penstock.ingest.v1.ingest_pb2 import PublishRequest
from penstock.ingestion import wire
from penstock.ingestion.errors import BadRequest
from penstock.ingestion.gate import Gate, Inspection, Limits
from penstock.pipeline import Pipeline, load
from penstock.wire.fields import utf8

WIDE = Limits()
INT64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(max_size=12)
TIMES = st.builds(DeviceTime, wall_us=INT64, steady_us=st.none() | INT64)
EVENTS = st.builds(
    Event,
    id=TEXT,
    type=st.sampled_from(["post.created", "follow.created", "page.viewed", "no.such", ""]),
    seq=st.integers(0, 2**63 - 1),
    occurred=st.none() | TIMES,
    attributes=st.dictionaries(st.sampled_from(["author", "post_id", "follower", "é", "x"]), TEXT, max_size=5),
    data=st.binary(max_size=20),
    content_type=TEXT,
    boot_id=st.sampled_from(["", "boot", "other"]),
    traceparent=TEXT,
)
REQUESTS = st.builds(
    PublishRequest,
    device_id=st.text(min_size=1, max_size=20),
    boot_id=st.sampled_from(["", "boot"]),
    sent=st.none() | TIMES,
    clock_token=st.binary(max_size=40),
    reply_received=st.none() | TIMES,
    events=st.lists(EVENTS, max_size=6),
)


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    return load()


@pytest.fixture(scope="module")
def wide(pipeline: Pipeline) -> Gate:
    return Gate(pipeline, WIDE)


def expected_code(event: Event, pipeline: Pipeline) -> int:
    """The gate's rules once more, through protobuf's objects and without the limits on sizes."""
    declared = pipeline.event_types.get(event.type)
    if declared is None:
        return wire.UNKNOWN_TYPE
    if any(not event.attributes.get(name) for name in declared.required):
        return wire.MISSING_ATTRIBUTE
    return wire.NO_IDENTITY if not event.seq and not event.id else wire.PASS


def check_against_protobuf(found: Inspection, request: PublishRequest, pipeline: Pipeline) -> None:
    assert (found.device_id, found.boot_id) == (request.device_id, request.boot_id)
    assert found.clock_token == request.clock_token
    assert found.sent.wall_us == max(request.sent.wall_us, 0)
    steady = request.sent.steady_us if request.sent.HasField("steady_us") else None
    assert found.sent.steady_us == steady
    assert found.reply_received.wall_us == max(request.reply_received.wall_us, 0)
    assert len(found.rows) == len(request.events)
    for row, event in zip(found.rows.tolist(), request.events, strict=True):
        assert row[wire.CODE] == expected_code(event, pipeline)
        assert row[wire.SEQ] == event.seq
        assert row[wire.WALL] == event.occurred.wall_us
        assert row[wire.STEADY] == event.occurred.steady_us
        assert bool(row[wire.HAS_STEADY]) == event.occurred.HasField("steady_us")
        assert bool(row[wire.OTHER_BOOT]) == (event.boot_id not in {"", request.boot_id})
    assert found.passed == sum(1 for row in found.rows.tolist() if row[wire.CODE] == wire.PASS)


@given(REQUESTS)
def test_every_request_is_read_as_protobuf_reads_it(wide: Gate, pipeline: Pipeline, request_: PublishRequest) -> None:
    check_against_protobuf(wide.inspect(request_.SerializeToString()), request_, pipeline)


@given(st.data())
@settings(max_examples=500)
def test_damaged_bytes_never_pass_what_protobuf_would_refuse(
    wide: Gate, pipeline: Pipeline, data: st.DataObject
) -> None:
    whole = bytearray(data.draw(REQUESTS).SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(len(whole) - 1, 0)))
        change = data.draw(st.sampled_from(["flip", "cut", "insert"]))
        if change == "flip" and whole:
            whole[at] ^= 1 << data.draw(st.integers(0, 7))
        elif change == "cut":
            del whole[at:]
        else:
            whole[at:at] = data.draw(st.binary(min_size=1, max_size=3))
    check_any_bytes(wide, pipeline, bytes(whole))


@given(st.binary(max_size=200))
@example(b"\x0a\x01d2\x04\x1a\x02\x08\x01")  # field 3 of an event with the wrong wire type
@example(b"\x0a\x01d\x32\x0b\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02")  # a varint of eleven groups' worth
def test_random_bytes_never_pass_what_protobuf_would_refuse(wide: Gate, pipeline: Pipeline, whole: bytes) -> None:
    check_any_bytes(wide, pipeline, whole)


def check_any_bytes(gate: Gate, pipeline: Pipeline, whole: bytes) -> None:
    try:
        found = gate.inspect(whole)
    except BadRequest:
        return
    # The request is read: then protobuf reads its head too, and every event that passed, with the same content.
    for row in found.rows.tolist():
        if row[wire.CODE] == wire.PASS:
            event = Event.FromString(whole[row[wire.AT] : row[wire.END]])
            assert expected_code(event, pipeline) == wire.PASS
            assert event.seq == row[wire.SEQ]
            server_part = [field.name for field, _ in event.ListFields() if field.number > 15]
            assert server_part == []
    if found.passed == len(found.rows):
        try:
            request = PublishRequest.FromString(whole)
        except DecodeError:  # pragma: no cover
            pytest.fail(f"passed the gate, but is no PublishRequest: {whole!r}")
        check_against_protobuf(found, request, pipeline)


@given(st.binary(max_size=24) | st.text(max_size=12).map(str.encode))
def test_utf8_is_judged_as_python_does(raw: bytes) -> None:
    data = np.frombuffer(raw + b"\0", np.uint8)
    try:
        raw.decode("utf-8")
        valid = True
    except UnicodeDecodeError:
        valid = False
    assert bool(utf8(data.ctypes.data, 0, len(raw))) == valid
