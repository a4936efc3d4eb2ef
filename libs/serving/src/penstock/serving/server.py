"""A gRPC server as all our services have it: limits, TLS, health and reflection.

Order of a start: listen (health says NOT_SERVING), get ready, SERVING.
Order of a stop: NOT_SERVING, wait for balancers, finish what is under way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from penstock.serving.pool import FLUSH_S

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class ServerConfig(Protocol):
    """What a service's settings must have."""

    @property
    def tls_certificate(self) -> Path | None: ...
    @property
    def tls_key(self) -> Path | None: ...
    @property
    def tls_client_ca(self) -> Path | None: ...
    @property
    def concurrent_rpcs_max(self) -> int: ...
    @property
    def connection_age_max_s(self) -> int: ...
    @property
    def drain_wait_s(self) -> int: ...
    @property
    def drain_grace_s(self) -> int: ...


class Server:
    """Wraps grpc.aio's server; `names` are the full names of the services that `handlers` serve."""

    def __init__(
        self,
        config: ServerConfig,
        names: Sequence[str],
        handlers: Sequence[grpc.GenericRpcHandler],
        *,
        message_bytes_max: int,
    ) -> None:
        self._config = config
        self._names = names
        self._server = grpc.aio.server(
            options=_options(config, message_bytes_max), maximum_concurrent_rpcs=config.concurrent_rpcs_max
        )
        self._server.add_generic_rpc_handlers(tuple(handlers))
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection((*names, health.SERVICE_NAME, reflection.SERVICE_NAME), self._server)

    async def start(self, address: str) -> None:
        """Listens; health says NOT_SERVING until set_serving(True)."""
        tls = _credentials(self._config)
        if tls is not None:
            self._server.add_secure_port(address, tls)
        else:
            self._server.add_insecure_port(address)
        await self.set_serving(False)
        await self._server.start()

    async def set_serving(self, serving: bool) -> None:
        for name in ("", *self._names):
            await self._health.set(name, SERVING if serving else NOT_SERVING)

    async def announce_end(self) -> None:
        """NOT_SERVING, and time for balancers to see it."""
        await self.set_serving(False)
        await asyncio.sleep(self._config.drain_wait_s)  # they learn of it by asking, at their own pace

    async def stop(self) -> None:
        """Takes no new calls and waits for those under way, up to the grace."""
        await self._server.stop(self._config.drain_grace_s)


class Flushes(Protocol):
    def flush(self) -> None: ...


async def flush_for_ever(metrics: Flushes) -> None:
    while True:
        await asyncio.sleep(FLUSH_S)
        metrics.flush()


def _options(config: ServerConfig, message_bytes_max: int) -> list[tuple[str, int]]:
    return [
        # grpcio refuses larger messages itself, before we see them, with RESOURCE_EXHAUSTED and the sizes.
        ("grpc.max_receive_message_length", message_bytes_max),
        ("grpc.so_reuseport", 1),
        # Calls that Python has not picked up yet. Beyond gRPC's own limit of 1,000 some are ended as CANCELLED, which
        # tells a client nothing; ours answers RESOURCE_EXHAUSTED (maximum_concurrent_rpcs).
        ("grpc.server.max_pending_requests", 4 * config.concurrent_rpcs_max),
        ("grpc.server.max_pending_requests_hard_limit", 8 * config.concurrent_rpcs_max),
        ("grpc.max_connection_age_ms", config.connection_age_max_s * 1000),
        ("grpc.max_connection_age_grace_ms", (config.drain_grace_s + 10) * 1000),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.keepalive_permit_without_calls", 1),
    ]


def _credentials(config: ServerConfig) -> grpc.ServerCredentials | None:
    if config.tls_certificate is None or config.tls_key is None:
        return None
    pair = (config.tls_key.read_bytes(), config.tls_certificate.read_bytes())
    roots = config.tls_client_ca.read_bytes() if config.tls_client_ca else None
    return grpc.ssl_server_credentials([pair], roots, require_client_auth=roots is not None)
