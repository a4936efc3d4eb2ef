from __future__ import annotations

import pytest
from google.protobuf.internal.encoder import _VarintBytes  # type: ignore[attr-defined]  # for comparison only
from hypothesis import given
from hypothesis import strategies as st
from penstock.timeline.v1.delivery_pb2 import Post
from penstock.timeline.v1.timeline_pb2 import GetTimelineResponse, GetTimelinesRequest, GetTimelinesResponse
from penstock.timelines import wire


@given(st.integers(0, 2**64 - 1))
def test_numbers_are_written_as_protobuf_does(value: int) -> None:
    assert wire.varint(value) == _VarintBytes(value)


@given(st.lists(st.text(max_size=300)), st.booleans())
def test_posts_put_together_by_hand_are_a_page(ids: list[str], stale: bool) -> None:
    posts = [Post(id=one, author="ann", attributes={"text": one}) for one in ids]
    tail = GetTimelineResponse(stale=stale, refilling=True)
    answer = wire.repeated(1, (post.SerializeToString() for post in posts)) + tail.SerializeToString()
    assert GetTimelineResponse.FromString(answer) == GetTimelineResponse(posts=posts, stale=stale, refilling=True)


@given(st.lists(st.binary(max_size=300)))
def test_what_is_put_together_can_be_taken_apart(values: list[bytes]) -> None:
    assert list(wire.values(wire.repeated(3, values), 3)) == values


def test_protobufs_own_messages_can_be_taken_apart() -> None:
    pages = [GetTimelineResponse(stale=True), GetTimelineResponse(), GetTimelineResponse(refilling=True)]
    message = GetTimelinesResponse(responses=pages).SerializeToString()
    assert [GetTimelineResponse.FromString(one) for one in wire.values(message, 1)] == pages


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (b"\x12\x00", "byte 0 does not begin field 1"),
        (b"\x0a\x05abcd", "cut off"),
        (b"\x0a", "no size ends"),
        (b"\x0a" + b"\xff" * 9, "no size ends"),
    ],
)
def test_what_cannot_be_taken_apart(message: bytes, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        list(wire.values(message, 1))


def test_a_field_of_a_message() -> None:
    request = GetTimelinesRequest()
    request.requests.add(user="u" * 1000)
    assert wire.field(1, request.requests[0].SerializeToString()) == request.SerializeToString()
