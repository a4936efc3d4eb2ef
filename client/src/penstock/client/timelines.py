"""Asks the timeline service: pages of a timeline, many timelines at once, a timeline as it changes.

In:  a user, a cursor; the consistency token of a write that must be visible.
Out: pages of posts, newest first; TimelinesError where nobody could answer. A user that nobody has heard of has an
     empty timeline.
Asks once: reading changes nothing, so a caller may ask again as it likes; only a subscription connects again by itself.
May be shared by threads.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc
from google.rpc import code_pb2
from penstock.client.channel import CHANNEL_OPTIONS, Security, failure_of, open_channel
from penstock.client.cursor import Cursor
from penstock.client.errors import TimelinesError, TimelinesNotYetVisibleError
from penstock.client.post import Page, PageQuery, page_of, request_of
from penstock.client.retry import Failure
from penstock.client.subscription import Disconnection, Subscription, log_disconnected
from penstock.client.timeline_state import TimelinesState, state_of
from penstock.events.v1.event_pb2 import ConsistencyToken
from penstock.timeline.v1.timeline_pb2 import DescribeRequest, GetTimelineRequest, GetTimelinesRequest
from penstock.timeline.v1.timeline_pb2_grpc import TimelineServiceStub

_TIMEOUT_S = 5.0
_OPTIONS = (
    *CHANNEL_OPTIONS,
    ("grpc.max_receive_message_length", 64 << 20),  # many long pages
    # A subscription only listens: without asking it would never notice that the other end is gone.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
)
_Answer = TypeVar("_Answer")


class Timelines:
    """The timelines of one service; `timeout_s` is also how long an answer waits for its consistency token."""

    def __init__(self, server: str, *, security: Security, timeout_s: float = _TIMEOUT_S) -> None:
        self._server = server
        self._timeout_s = _positive(timeout_s)
        self._channel = open_channel(server, security, _OPTIONS)
        self._stub = TimelineServiceStub(self._channel)
        self._subscriptions: weakref.WeakSet[Subscription] = weakref.WeakSet()

    def get(
        self,
        user: str,
        *,
        cursor: Cursor | None = None,
        newer: bool = False,
        limit: int | None = None,
        consistency: ConsistencyToken | None = None,
        allow_stale: bool = False,
        timeout_s: float | None = None,
    ) -> Page:
        """The newest posts, or those just older (`newer`: just newer) than the cursor. Newest first in any case.

        With a token the answer waits until the timeline reflects that write. If it does not in time:
        NotYetVisibleError, or what is there, marked as stale, if the caller allows that.
        """
        request = _request(PageQuery(user, cursor, newer, limit), consistency, allow_stale)
        return page_of(self._ask(self._stub.GetTimeline, request, timeout_s))

    def get_many(
        self,
        queries: Sequence[str | PageQuery],
        *,
        consistency: ConsistencyToken | None = None,
        allow_stale: bool = False,
        timeout_s: float | None = None,
    ) -> list[Page]:
        """A page for each user or query, in the order asked. The server says how many it answers at once."""
        asked = [PageQuery(query) if isinstance(query, str) else query for query in queries]
        request = GetTimelinesRequest(requests=[_request(query, consistency, allow_stale) for query in asked])
        return [page_of(said) for said in self._ask(self._stub.GetTimelines, request, timeout_s).responses]

    def pages(
        self,
        user: str,
        *,
        limit: int | None = None,
        consistency: ConsistencyToken | None = None,
        allow_stale: bool = False,
        timeout_s: float | None = None,
    ) -> Iterator[Page]:
        """All of a timeline, page after page towards older posts; each is asked for when it is wanted."""
        cursor = None
        while True:
            page = self.get(
                user,
                cursor=cursor,
                limit=limit,
                consistency=consistency,
                allow_stale=allow_stale,
                timeout_s=timeout_s,
            )
            yield page
            if page.next is None:
                return
            cursor, consistency = page.next, None  # what the first page waited for is there

    def subscribe(
        self,
        user: str,
        cursor: Cursor | None = None,
        *,
        on_disconnected: Callable[[Disconnection], object] = log_disconnected,
    ) -> Subscription:
        """What changes, from `live` of a page or `cursor` of a change on; without a cursor, all there is comes first.

        Only posts that are not older than the oldest of that page are told of. It connects when it is first asked for
        a change, and again, by itself, whenever the connection is lost.
        """
        request_of(PageQuery(user))  # a user that is none fails at once
        subscription = Subscription(
            self._stub.Subscribe, user, cursor, error_of=self._error, on_disconnected=on_disconnected
        )
        self._subscriptions.add(subscription)
        return subscription

    def describe(self, *, with_hash: bool = False, timeout_s: float | None = None) -> TimelinesState:
        """The partitions that this server holds: users, entries, memory, lag. A hash of all of it takes a while."""
        return state_of(self._ask(self._stub.Describe, DescribeRequest(with_hash=with_hash), timeout_s))

    def close(self) -> None:
        """Hangs up; subscriptions end, calls under way fail."""
        for subscription in list(self._subscriptions):
            subscription.close()
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, method: Callable[..., _Answer], request: Any, timeout_s: float | None) -> _Answer:
        try:
            return method(request, timeout=self._timeout_s if timeout_s is None else _positive(timeout_s))
        except grpc.RpcError as error:
            raise self._error(failure_of(error)) from error

    def _error(self, failure: Failure) -> TimelinesError:
        if failure.code == code_pb2.FAILED_PRECONDITION:
            return TimelinesNotYetVisibleError(failure.code_name, failure.detail)
        if failure.code == code_pb2.UNIMPLEMENTED:
            detail = f"{self._server} is no timeline service: it does not know the question"
            return TimelinesError(failure.code_name, detail)
        return TimelinesError(failure.code_name, f"the timeline service at {self._server} answered {failure}")


def _request(query: PageQuery, consistency: ConsistencyToken | None, allow_stale: bool) -> GetTimelineRequest:
    request = request_of(query)
    if consistency is not None:
        request.consistency.CopyFrom(consistency)
    request.allow_stale = allow_stale
    return request


def _positive(timeout_s: float) -> float:
    if not timeout_s > 0:
        raise ValueError(f"timeout_s must be greater than 0, not {timeout_s:g}")
    return timeout_s
