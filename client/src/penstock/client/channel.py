"""How a publisher is connected: channel options, security, and failures as the retry schedule wants them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2
from penstock.client.address import host_and_port
from penstock.client.retry import Failure
from penstock.ingest.v1.ingest_pb2 import BatchFailure

PUBLISH = "/penstock.ingest.v1.IngestService/Publish"
PUBLISH_STREAM = "/penstock.ingest.v1.IngestService/PublishStream"

# The outbox retries, with identities and fresh times; gRPC must not do so behind its back.
# A channel that comes back within seconds makes the pauses of the outbox count.
CHANNEL_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.enable_retries", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 5_000),
)


@dataclass(frozen=True, slots=True)
class Plaintext:
    """No encryption: for a loopback address or a network that encrypts by itself."""


@dataclass(frozen=True, slots=True)
class Tls:
    """Encryption, with the server checked against `roots` (PEM) or, without it, the system's certificates."""

    roots: Path | str | None = None


Security: TypeAlias = Plaintext | Tls
TransportName: TypeAlias = Literal["unary", "stream"]


def credentials_of(security: Security) -> grpc.ChannelCredentials | None:
    """None: plaintext."""
    if isinstance(security, Plaintext):
        return None
    roots = None if security.roots is None else Path(security.roots).read_bytes()
    return grpc.ssl_channel_credentials(root_certificates=roots)


def open_channel(
    server: str, security: Security, options: tuple[tuple[str, int], ...] = CHANNEL_OPTIONS
) -> grpc.Channel:
    """A channel for threads. Connects when it is first used; an address that is none fails at once."""
    host_and_port(server)
    credentials = credentials_of(security)
    if credentials is None:
        return grpc.insecure_channel(server, options=options)
    return grpc.secure_channel(server, credentials, options=options)


class _Status(Protocol):
    """What the errors of grpc and of grpc.aio have in common."""

    def code(self) -> grpc.StatusCode: ...

    def details(self) -> str | None: ...

    def trailing_metadata(self) -> Iterable[Any] | None: ...


def failure_of(status: _Status) -> Failure:
    """What the server said, with its wish about trying again."""
    number: int = status.code().value[0]
    trailers: dict[str, str | bytes] = dict(status.trailing_metadata() or ())
    pushback = _pushback_ms(trailers.get("grpc-retry-pushback-ms"))
    if pushback is not None:
        hint = None if pushback < 0 else pushback * 1000
        return Failure(number, status.details() or "", hint, final=pushback < 0)
    return Failure(number, status.details() or "", _retry_info_us(trailers.get("grpc-status-details-bin")))


def failure_of_batch(said: BatchFailure) -> Failure:
    """The same for one batch of a stream; no time to wait means that trying again will not help."""
    return Failure(said.code, said.detail, said.retry_after_us or None, final=not said.retry_after_us)


def _pushback_ms(value: str | bytes | None) -> int | None:
    if value is None:
        return None
    try:
        return int(value)
    except ValueError:  # gRPC takes what it cannot read as "do not try again"
        return -1


def _retry_info_us(details: str | bytes | None) -> int | None:
    if not isinstance(details, bytes):
        return None
    try:
        status = status_pb2.Status.FromString(details)
    except DecodeError:  # a hint that cannot be read is no hint
        return None
    info = error_details_pb2.RetryInfo()
    delays = [info.retry_delay.ToMicroseconds() for detail in status.details if detail.Unpack(info)]
    return int(delays[0]) if delays else None
