"""Why a call fails, in terms that a client can act on.

ServiceError                 answered with its gRPC code and its text; `retry_after_ms` is advice, None if there is none
ConfigError                  at start: every fault of the settings at once
"""

from __future__ import annotations

from typing import NoReturn

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2


class ServiceError(Exception):
    """Subclasses name the code."""

    code: grpc.StatusCode = grpc.StatusCode.INTERNAL

    def __init__(self, detail: str, *, retry_after_ms: int | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after_ms = retry_after_ms


class ConfigError(Exception):
    """Text: one line per fault."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


async def abort(context: grpc.aio.ServicerContext[bytes, bytes], error: ServiceError) -> NoReturn:
    """Ends the call with the error's code; with google.rpc.RetryInfo and grpc-retry-pushback-ms where it has advice."""
    if error.retry_after_ms is None:
        await context.abort(error.code, error.detail)
    wait = Duration(seconds=error.retry_after_ms // 1000, nanos=error.retry_after_ms % 1000 * 1_000_000)
    detail = AnyMessage()
    detail.Pack(error_details_pb2.RetryInfo(retry_delay=wait))
    status = status_pb2.Status(code=error.code.value[0], message=error.detail, details=[detail])
    metadata = (
        ("grpc-status-details-bin", status.SerializeToString()),
        ("grpc-retry-pushback-ms", str(error.retry_after_ms)),
    )
    await context.abort(error.code, error.detail, metadata)
