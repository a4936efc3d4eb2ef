"""Answers the questions of gRPC from a log of timelines, as the real service would."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NoReturn

import grpc
from penstock.client.testing.timeline_log import TOPIC, UPSTREAM, TimelineLog
from penstock.client.testing.timeline_model import changes, cursor_at
from penstock.events.v1.event_pb2 import Position
from penstock.timeline.v1 import timeline_pb2_grpc
from penstock.timeline.v1.delivery_pb2 import Post
from penstock.timeline.v1.timeline_pb2 import (
    DIRECTION_NEWER,
    Cursor,
    DescribeRequest,
    DescribeResponse,
    GetTimelineRequest,
    GetTimelineResponse,
    GetTimelinesRequest,
    GetTimelinesResponse,
    Heartbeat,
    SubscribeRequest,
    SubscribeResponse,
)

_LIMIT = 50
_LIMIT_MAX = 1_000
_INVALID = grpc.StatusCode.INVALID_ARGUMENT


class TimelineServicer(timeline_pb2_grpc.TimelineServiceServicer):
    """May serve under several servers, one after the other."""

    def __init__(self, log: TimelineLog, heartbeat_s: float, patience_s: float) -> None:
        self.faults: deque[tuple[grpc.StatusCode, str]] = deque()
        """How the next calls end."""
        self.subscribed: list[SubscribeRequest] = []
        self.refilling: set[str] = set()
        self._log, self._heartbeat_s, self._patience_s = log, heartbeat_s, patience_s

    def GetTimeline(self, request: GetTimelineRequest, context: grpc.ServicerContext) -> GetTimelineResponse:  # noqa: N802 (gRPC's)
        self._fail(context)
        return self._page(request, context)

    def GetTimelines(self, request: GetTimelinesRequest, context: grpc.ServicerContext) -> GetTimelinesResponse:  # noqa: N802 (gRPC's)
        self._fail(context)
        return GetTimelinesResponse(responses=[self._page(one, context) for one in request.requests])

    def Describe(self, request: DescribeRequest, context: grpc.ServicerContext) -> DescribeResponse:  # noqa: N802 (gRPC's)
        self._fail(context)
        with self._log.changed:
            model, response = self._log.model, DescribeResponse(partitions_total=1, capacity=self._log.model.capacity)
            response.partitions.add(
                users=len(model.follows),
                entries=sum(len(model.timeline(user)) for user in model.follows),
                posts=len(model.posts),
                bytes=sum(post.ByteSize() for post in model.posts.values()),
                applied=self._log.positions(),
                lag_records=self._log.written - self._log.applied,
                refilling=len(self.refilling),
                content_hash=model.content_hash() if request.with_hash else b"",
            )
        return response

    def Subscribe(self, request: SubscribeRequest, context: grpc.ServicerContext) -> Iterator[SubscribeResponse]:  # noqa: N802 (gRPC's)
        self._fail(context)
        log = self._log
        with log.changed:
            self.subscribed.append(request)
            cuts = len(log.cuts)
        context.add_callback(log.wake)  # a reader that hung up must not keep a thread
        held: dict[int, Post | None] = dict.fromkeys(request.cursor.held)
        told = -1
        while context.is_active():
            with log.changed:
                _wait_for_news(log, told, cuts, context, self._heartbeat_s)
                if len(log.cuts) > cuts:
                    _abort(context, *log.cuts[cuts])
                quiet, told = told in {-1, log.applied}, log.applied
                view, seen = log.model.view(request.user, request.cursor), log.positions()
            for response in changes(held, view):
                yield _resumable(response, request.cursor, seen, held)
            if quiet:
                yield _resumable(SubscribeResponse(heartbeat=Heartbeat()), request.cursor, seen, held)

    def _page(self, request: GetTimelineRequest, context: grpc.ServicerContext) -> GetTimelineResponse:
        _check(request, context)
        cursor = request.cursor if request.HasField("cursor") else None
        limit = request.limit or _LIMIT
        with self._log.changed:
            stale = self._stale(request, context)
            model, seen = self._log.model, self._log.positions()
            response = GetTimelineResponse(stale=stale, refilling=request.user in self.refilling, applied=seen)
            if cursor is not None and request.direction == DIRECTION_NEWER:
                posts = model.newer(request.user, cursor, limit)
                response.next.CopyFrom(cursor_at(posts[0]) if posts else cursor)
            else:
                posts, more = model.older(request.user, cursor, limit)
                last = cursor_at(posts[-1]) if more else None
                if last is not None:
                    response.next.CopyFrom(last)
                if cursor is None:
                    response.live.CopyFrom(last or Cursor())
                    response.live.MergeFrom(Cursor(seen=seen, held=[post.number for post in posts]))
            response.posts.extend(posts)
        return response

    def _stale(self, request: GetTimelineRequest, context: grpc.ServicerContext) -> bool:
        """Waits for the token, with the lock."""
        for place in request.consistency.positions:
            if place.topic != TOPIC and place.topic not in UPSTREAM:
                _abort(context, _INVALID, f"the token names {place.topic!r}, and timelines come from other topics")
        remaining_s = context.time_remaining()
        patience_s = self._patience_s if remaining_s is None else min(self._patience_s, 0.9 * remaining_s)
        behind = not self._log.changed.wait_for(lambda: self._log.reflects(request.consistency), patience_s)
        if behind and not request.allow_stale:
            _abort(context, grpc.StatusCode.FAILED_PRECONDITION, "the timeline does not reflect the token")
        return behind

    def _fail(self, context: grpc.ServicerContext) -> None:
        if self.faults:
            _abort(context, *self.faults.popleft())


def _check(request: GetTimelineRequest, context: grpc.ServicerContext) -> None:
    """Ends the call where the question makes no sense."""
    cursor = request.cursor
    if not request.user:
        _abort(context, _INVALID, "user is empty: whose timeline?")
    if request.limit > _LIMIT_MAX:
        _abort(context, _INVALID, f"limit is {request.limit}: at most {_LIMIT_MAX} are allowed")
    if not cursor.post_id and (cursor.seen or cursor.held):
        _abort(context, _INVALID, "the cursor names no post, as `live` of a whole timeline does")
    if not cursor.post_id and request.direction == DIRECTION_NEWER:
        _abort(context, _INVALID, "direction NEWER needs a cursor")


def _wait_for_news(log: TimelineLog, told: int, cuts: int, context: grpc.ServicerContext, heartbeat_s: float) -> None:
    """With the lock, until there is something to tell, nobody to tell it to, or time to say that nothing happens."""
    log.changed.wait_for(lambda: told != log.applied or len(log.cuts) > cuts or not context.is_active(), heartbeat_s)


def _resumable(
    response: SubscribeResponse, start: Cursor, seen: list[Position], held: dict[int, Post | None]
) -> SubscribeResponse:
    response.cursor.CopyFrom(Cursor(time_us=start.time_us, post_id=start.post_id, author=start.author, seen=seen))
    response.cursor.held.extend(held)
    return response


def _abort(context: grpc.ServicerContext, code: grpc.StatusCode, detail: str) -> NoReturn:
    context.abort(code, detail)
