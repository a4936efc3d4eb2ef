"""A page of a timeline: what was asked, checked, and the answer as bytes.

In:  a GetTimelineRequest; a partition that is held.
Out: the bytes of a GetTimelineResponse, posts as they were delivered.
A page ends early where its posts are large: `next` goes on as after any other page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.events.v1.event_pb2 import Position
from penstock.timeline.v1 import timeline_pb2
from penstock.timelines import wire
from penstock.timelines.consistency import DELIVERIES
from penstock.timelines.errors import BadQuestion
from penstock.timelines.held import Held
from penstock.timelines.store import Partition, Place

POSTS_FIELD = timeline_pb2.GetTimelineResponse.POSTS_FIELD_NUMBER
NEWER = timeline_pb2.DIRECTION_NEWER
# Clients take messages of 4 MiB unless they are told otherwise.
PAGE_BYTES_MAX = 3 << 20
USER_BYTES_MAX = 1_024


@dataclass(frozen=True, slots=True)
class Limits:
    """Posts of a page: where the caller does not say, and at most."""

    default: int
    most: int


@dataclass(frozen=True, slots=True)
class Question:
    """A request that makes sense. `place` is None at the newest end."""

    place: Place | None
    newer: bool
    limit: int


def check_user(user: str) -> None:
    if not user:
        raise BadQuestion("user is empty: whose timeline?")
    if len(user.encode()) > USER_BYTES_MAX:
        raise BadQuestion(f"user has {len(user.encode())} bytes: at most {USER_BYTES_MAX} are allowed")


def check_held(cursor: timeline_pb2.Cursor, limits: Limits) -> None:
    if len(cursor.held) > limits.most:
        raise BadQuestion(f"the cursor holds {len(cursor.held)} posts: at most {limits.most} are allowed")


def question(request: timeline_pb2.GetTimelineRequest, limits: Limits) -> Question:
    """BadQuestion, if it makes no sense."""
    check_user(request.user)
    if request.limit > limits.most:
        raise BadQuestion(f"limit is {request.limit}: at most {limits.most} are allowed")
    if request.direction not in timeline_pb2.Direction.values():
        raise BadQuestion(f"direction {request.direction} is unknown: OLDER or NEWER")
    cursor, newer = request.cursor, request.direction == NEWER
    check_held(cursor, limits)
    place = place_of(cursor)
    if place is None and (cursor.seen or cursor.held):
        raise BadQuestion("the cursor names no post, as `live` of a whole timeline does: pages go on from `next`")
    if place is None and newer:
        raise BadQuestion("direction NEWER needs a cursor: read a page without one, and go on from its newest post")
    return Question(place, newer, request.limit or limits.default)


def place_of(cursor: timeline_pb2.Cursor) -> Place | None:
    """The post that a cursor names. A time alone is a place too: before all posts of that time."""
    if cursor.time_us < 0:
        raise BadQuestion(f"the cursor's time_us is {cursor.time_us}: it cannot be negative")
    if not (cursor.time_us or cursor.post_id or cursor.author):
        return None
    return Place(cursor.time_us, cursor.post_id, cursor.author)


def cursor_of(place: Place) -> timeline_pb2.Cursor:
    return timeline_pb2.Cursor(time_us=place.time_us, post_id=place.post_id, author=place.author)


def applied(held: Held) -> list[Position]:
    """The last record that a partition reflects."""
    if not held.position:
        return []
    return [Position(topic=DELIVERIES, partition=held.number, offset=held.position - 1)]


def page(held: Held, user: int, asked: Question, *, stale: bool, bytes_max: int = PAGE_BYTES_MAX) -> bytes:
    """The answer. Takes the partition's lock."""
    tail = timeline_pb2.GetTimelineResponse(stale=stale)
    with held.lock:
        partition = held.partition
        found = partition.page(user, asked.place, newer=asked.newer, limit=asked.limit)
        slots: list[int] = found.slots.tolist()
        near_first = slots[::-1] if asked.newer else slots
        payloads = _fitting(partition, near_first, bytes_max)
        more = found.more or len(payloads) < len(slots)
        kept = near_first[: len(payloads)]
        if asked.newer:
            tail.next.CopyFrom(cursor_of(partition.place(kept[-1]) if kept else _given(asked)))
            payloads.reverse()
        elif more:
            tail.next.CopyFrom(cursor_of(partition.place(kept[-1])))
        tail.applied.extend(applied(held))
        if asked.place is None:
            _live(tail, partition, kept)
        tail.refilling = partition.is_refilling(user)
    return wire.repeated(POSTS_FIELD, payloads) + tail.SerializeToString()


def _live(tail: timeline_pb2.GetTimelineResponse, partition: Partition, slots: Iterable[int]) -> None:
    """Down to the page's last post, or all of the timeline where there is no other page."""
    tail.live.SetInParent()
    tail.live.MergeFrom(tail.next)
    tail.live.seen.extend(tail.applied)
    tail.live.held.extend(partition.post_number(slot) for slot in slots)


def _fitting(partition: Partition, slots: Iterable[int], bytes_max: int) -> list[bytes]:
    """The first of these posts that fit; one at least."""
    payloads: list[bytes] = []
    left = bytes_max
    for slot in slots:
        payload = partition.payload(slot)
        left -= len(payload)
        if left < 0 and payloads:
            break
        payloads.append(payload)
    return payloads


def _given(asked: Question) -> Place:
    assert asked.place is not None  # where newer posts are asked for
    return asked.place
