"""Why a whole request is not taken. (A single event that is not taken is a refusal in an answer that is OK.)

RequestError                 answered with its gRPC code and its text
├── BadRequest               the client's fault: sending it again will not help
├── Busy                     the service is full: send it again, later
└── LogUnavailable           Kafka did not confirm in time: send it again, with the same identities
ConfigError                  at start: every fault of the settings at once
"""

from __future__ import annotations

import grpc


class RequestError(Exception):
    """`retry_after_ms` is None where trying again will not help."""

    code: grpc.StatusCode = grpc.StatusCode.INTERNAL

    def __init__(self, detail: str, *, retry_after_ms: int | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after_ms = retry_after_ms


class BadRequest(RequestError):
    code = grpc.StatusCode.INVALID_ARGUMENT


class Busy(RequestError):
    code = grpc.StatusCode.RESOURCE_EXHAUSTED


class LogUnavailable(RequestError):
    code = grpc.StatusCode.UNAVAILABLE


class ConfigError(Exception):
    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults
