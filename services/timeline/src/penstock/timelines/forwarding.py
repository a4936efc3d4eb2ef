"""Passes calls on to the replica that has the user.

In:  a call for a user of another replica, as bytes. Out: what that replica answered, as bytes, or its error.
Guaranteed: a call is passed on once. A replica that is given a call for a user it does not have either says that the
replicas disagree, instead of passing it on again.
One channel per replica, opened when it is first needed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TypeAlias

import grpc
from penstock.timelines.errors import Away, NotOurs, OwnersAnswer
from penstock.timelines.metrics import Metrics
from penstock.timelines.ownership import Ownership

FORWARDED = "penstock-forwarded"
PASSED_ON = ("traceparent",)
OPTIONS = (
    # A page is cut at 3 MiB, but many of them come together.
    ("grpc.max_receive_message_length", 1 << 30),
    # A replica that restarts is gone for seconds; gRPC would soon look for it every two minutes only.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),  # in truth the least time that an attempt is given
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
)
Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"
Unary: TypeAlias = "grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]"
Streaming: TypeAlias = "grpc.aio.UnaryStreamMultiCallable[bytes, bytes]"


class Forwarding:
    """`peers`: addresses of all replicas, in order. `credentials` is None where gRPC is served without TLS."""

    def __init__(
        self,
        ownership: Ownership,
        peers: Sequence[str],
        metrics: Metrics,
        *,
        service: str,
        credentials: grpc.ChannelCredentials | None,
        patience_s: float,
    ) -> None:
        self._ownership = ownership
        self._peers = peers
        self._metrics = metrics
        self._service = service
        self._credentials = credentials
        self._patience_s = patience_s
        self._channels: dict[int, grpc.aio.Channel] = {}

    async def unary(self, owner: int, method: str, request: bytes, context: Context) -> bytes:
        call: Unary = self._channel(owner).unary_unary(self._path(method))
        remaining = context.time_remaining()
        timeout_s = 2 * self._patience_s if remaining is None else remaining
        try:
            answer: bytes = await call(request, timeout=timeout_s, metadata=_metadata(context))
        except grpc.aio.AioRpcError as error:
            raise self._answered(owner, error) from error
        self._metrics.forwarded.labels(str(owner), "OK").inc()
        return answer

    async def stream(self, owner: int, method: str, request: bytes, context: Context) -> AsyncIterator[bytes]:
        call: Streaming = self._channel(owner).unary_stream(self._path(method))
        answers = call(request, timeout=context.time_remaining(), metadata=_metadata(context))
        try:
            async for answer in answers:
                yield answer
        except grpc.aio.AioRpcError as error:
            raise self._answered(owner, error) from error
        finally:
            answers.cancel()
        self._metrics.forwarded.labels(str(owner), "OK").inc()

    def refuse_twice(self, owner: int, context: Context) -> None:
        """Raises NotOurs if the call was passed on to us already."""
        if dict(context.invocation_metadata() or ()).get(FORWARDED):
            own = self._ownership
            raise NotOurs(
                f"replicas disagree about who has this user: one passed the call on to this replica, {own.replica} of"
                f" {own.replicas}, by whose count it belongs to replica {owner}; give all of them the same REPLICAS and"
                " PEERS, and the same topics"
            )

    async def close(self) -> None:
        for channel in self._channels.values():
            await channel.close()

    def _channel(self, owner: int) -> grpc.aio.Channel:
        if owner not in self._channels:
            address = self._peers[owner]
            if self._credentials is None:
                self._channels[owner] = grpc.aio.insecure_channel(address, OPTIONS)
            else:
                self._channels[owner] = grpc.aio.secure_channel(address, self._credentials, OPTIONS)
        return self._channels[owner]

    def _path(self, method: str) -> str:
        return f"/{self._service}/{method}"

    def _answered(self, owner: int, error: grpc.aio.AioRpcError) -> OwnersAnswer | Away:
        self._metrics.forwarded.labels(str(owner), error.code().name).inc()
        detail, pushback = error.details() or error.code().name, _pushback_ms(error)
        if error.code() is grpc.StatusCode.UNAVAILABLE and pushback is None:  # nobody of us said it
            return Away(
                f"replica {owner} at {self._peers[owner]}, which has this user, does not answer: {detail}",
                retry_after_ms=500,
            )
        return OwnersAnswer(error.code(), detail, retry_after_ms=pushback)


def _metadata(context: Context) -> list[tuple[str, str | bytes]]:
    given: Mapping[str, str | bytes] = dict(context.invocation_metadata() or ())
    return [(FORWARDED, "1"), *((name, given[name]) for name in PASSED_ON if name in given)]


def _pushback_ms(error: grpc.aio.AioRpcError) -> int | None:
    text = dict(error.trailing_metadata() or ()).get("grpc-retry-pushback-ms")
    return int(text) if isinstance(text, str) and text.isdigit() else None
