"""Every call counted, timed, and answered with a code: the metrics are named as go-grpc-middleware names them.

Guaranteed: no text of an exception of ours reaches a client; a bug is logged and answered INTERNAL.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import grpc
from penstock.serving.errors import ServiceError, abort
from penstock.serving.pool import Pool
from prometheus_client import CollectorRegistry, Counter, Histogram

logger = logging.getLogger(__name__)

LABELS = ("grpc_type", "grpc_service", "grpc_method")
SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
T = TypeVar("T")


class CallMetrics:
    """The metrics of all methods of a service."""

    def __init__(self, registry: CollectorRegistry, pool: Pool) -> None:
        self.pool = pool
        self.started = Counter("grpc_server_started", "RPCs that began.", LABELS, registry=registry)
        self.handled = Counter(
            "grpc_server_handled",
            "RPCs that ended, by status. UNAVAILABLE: what we depend on is gone. RESOURCE_EXHAUSTED: we are full.",
            (*LABELS, "grpc_code"),
            registry=registry,
        )
        self.seconds = Histogram(
            "grpc_server_handling_seconds", "Time from request to answer.", LABELS, buckets=SECONDS, registry=registry
        )
        self.received = Counter("grpc_server_msg_received", "Messages received on streams.", LABELS, registry=registry)
        self.sent = Counter("grpc_server_msg_sent", "Messages sent on streams.", LABELS, registry=registry)


class Calls:
    """One method: its metrics with their labels looked up once, and the way its calls end."""

    def __init__(self, metrics: CallMetrics, kind: str, service: str, method: str) -> None:
        labels, pool = (kind, service, method), metrics.pool
        self.method = method
        self.received = pool.counter(metrics.received.labels(*labels))
        self.sent = pool.counter(metrics.sent.labels(*labels))
        self._started = pool.counter(metrics.started.labels(*labels))
        self._seconds = pool.histogram(metrics.seconds.labels(*labels), SECONDS)
        self._handled = metrics.handled
        self._labels = labels
        self._ok = pool.counter(metrics.handled.labels(*labels, "OK"))

    async def run(self, context: grpc.aio.ServicerContext[bytes, bytes], call: Callable[[], Awaitable[T]]) -> T:
        """Awaits the call; turns a ServiceError into its code. Who has an answer has been counted."""
        self._started.inc()
        began = time.monotonic()
        try:
            result = await call()
        except ServiceError as error:
            self._ended(began, error.code)
            await abort(context, error)
        except asyncio.CancelledError:
            self._ended(began, grpc.StatusCode.CANCELLED)
            raise
        except Exception:
            # A bug. The client learns that it is ours, the log learns which; the next call may well work.
            logger.exception("%s failed", self.method)
            self._ended(began, grpc.StatusCode.INTERNAL)
            await context.abort(grpc.StatusCode.INTERNAL, "internal error of the service; its log says more")
        self._ended(began, grpc.StatusCode.OK)
        return result

    def _ended(self, began: float, code: grpc.StatusCode) -> None:
        self._seconds.observe(time.monotonic() - began)
        if code is grpc.StatusCode.OK:
            self._ok.inc()
        else:
            self._handled.labels(*self._labels, code.name).inc()


def traceparent(context: grpc.aio.ServicerContext[bytes, bytes]) -> str:
    """The call's W3C trace context, if it has one."""
    for name, value in context.invocation_metadata() or ():
        if name == "traceparent" and isinstance(value, str) and len(value) <= 64:
            return value
    return ""
