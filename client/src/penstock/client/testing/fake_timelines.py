"""A timeline service in memory, reachable over gRPC, whose posts and follows a test makes.

In:  posts, deletions, follows and unfollows from a test, each a record of timeline.deliveries.v1, partition 0; and
     instructions (`fail_next`, `cut`, `down`, `hold`).
Out: answers as the real service would give them: pages, cursors, subscriptions, tokens that are waited for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent import futures
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Self

import grpc
from penstock.client.testing.timeline_log import TimelineLog
from penstock.client.testing.timeline_model import post_number
from penstock.client.testing.timeline_servicer import TimelineServicer
from penstock.events.v1.event_pb2 import ConsistencyToken, RowVersion
from penstock.timeline.v1.delivery_pb2 import Post
from penstock.timeline.v1.timeline_pb2 import SubscribeRequest
from penstock.timeline.v1.timeline_pb2_grpc import add_TimelineServiceServicer_to_server

_WORKERS = 64  # a subscription keeps one for as long as it lasts
_OPTIONS = (("grpc.http2.min_ping_interval_without_data_ms", 10_000),)
_UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


class FakeTimelines:
    """Use it as a context manager; `address` is where it listens. All timelines are in one partition.

    A read waits for its token for `patience_s`, or for nine tenths of its deadline if that is less.
    """

    def __init__(self, *, capacity: int = 800, heartbeat_s: float = 1.0, patience_s: float = 60.0) -> None:
        self._log = TimelineLog(capacity)
        self._model = self._log.model
        self._servicer = TimelineServicer(self._log, heartbeat_s, patience_s)
        self._server, self._port = self._listening(0)
        self.address = f"127.0.0.1:{self._port}"

    # What a test writes; each answer is the token that makes a read see it

    def post(
        self,
        author: str,
        post_id: str,
        attributes: Mapping[str, str] | None = None,
        *,
        time_us: int,
        error_bound_us: int | None = None,
    ) -> ConsistencyToken:
        """A post, or another version of one."""
        version = RowVersion(valid_from_us=time_us, position=self._log.written.to_bytes(8, "big"))
        post = Post(
            id=post_id,
            author=author,
            time_us=time_us,
            error_bound_us=error_bound_us,
            attributes=dict(attributes or {}),
            version=version,
            number=post_number(author, post_id, version),
        )
        return self._log.write(lambda: self._model.posts.update({(author, post_id): post}))

    def delete_post(self, author: str, post_id: str) -> ConsistencyToken:
        """It leaves every timeline."""
        return self._log.write(lambda: self._model.posts.pop((author, post_id), None))

    def follow(self, follower: str, author: str) -> ConsistencyToken:
        """The author's posts enter the follower's timeline."""
        return self._log.write(lambda: self._model.follows[follower].add(author))

    def unfollow(self, follower: str, author: str) -> ConsistencyToken:
        """The author's posts leave the follower's timeline."""
        return self._log.write(lambda: self._model.follows[follower].discard(author))

    # What a test may ask for

    def fail_next(self, code: grpc.StatusCode, detail: str = "as the test wanted", *, times: int = 1) -> None:
        """The next calls are answered with this."""
        self._servicer.faults.extend([(code, detail)] * times)

    def cut(self, code: grpc.StatusCode = _UNAVAILABLE, detail: str = "the server is going away") -> None:
        """Ends all subscriptions that are under way."""
        self._log.cut(code, detail)

    def hold(self) -> AbstractContextManager[None]:
        """Applies nothing meanwhile: no token is reflected."""
        return self._log.hold()

    @contextmanager
    def down(self) -> Iterator[None]:
        """Nobody listens meanwhile."""
        self._stop()
        try:
            yield
        finally:
            self._server, _ = self._listening(self._port)
            self._server.start()

    @property
    def subscribed(self) -> list[SubscribeRequest]:
        """Every request for a subscription, as it came."""
        return self._servicer.subscribed

    @property
    def refilling(self) -> set[str]:
        """Users whose timelines are said to wait for older posts; a test may change it."""
        return self._servicer.refilling

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        self.cut()
        self._server.stop(grace=0).wait()

    def _listening(self, port: int) -> tuple[grpc.Server, int]:
        server = grpc.server(futures.ThreadPoolExecutor(_WORKERS), options=_OPTIONS)
        add_TimelineServiceServicer_to_server(self._servicer, server)
        return server, server.add_insecure_port(f"127.0.0.1:{port}")
