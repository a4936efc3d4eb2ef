"""Why a call is not answered, and why a start is refused.

ServiceError                 answered with its gRPC code and its text
├── BadQuestion              the request makes no sense
├── NotYet                   the asked consistency was not reached within the deadline
├── NotOurs                  a call that was forwarded to us is about a partition that we do not own either
├── Away                     this server loads, is behind, or stops, or the owner does not answer: try again
├── Full                     no room for another subscriber
├── TooSlow                  a subscriber did not take what happened in time
└── OwnersAnswer             what the owner of the partition said to a forwarded call
RefusedStartError            the log cannot give what an inbox needs
BrokenLogError               a record that nobody of us can have written: a bug, which ends the process
"""

from __future__ import annotations

import grpc
from penstock.serving.errors import ServiceError


class BadQuestion(ServiceError):
    code = grpc.StatusCode.INVALID_ARGUMENT


class NotYet(ServiceError):
    code = grpc.StatusCode.FAILED_PRECONDITION


class NotOurs(ServiceError):
    code = grpc.StatusCode.FAILED_PRECONDITION


class Away(ServiceError):
    code = grpc.StatusCode.UNAVAILABLE


class Full(ServiceError):
    code = grpc.StatusCode.RESOURCE_EXHAUSTED


class TooSlow(ServiceError):
    code = grpc.StatusCode.RESOURCE_EXHAUSTED


class OwnersAnswer(ServiceError):
    """With the owner's code."""

    def __init__(self, code: grpc.StatusCode, detail: str, *, retry_after_ms: int | None = None) -> None:
        super().__init__(detail, retry_after_ms=retry_after_ms)
        self.code = code


class RefusedStartError(Exception):
    """Text: what happened, and what to do."""


class BrokenLogError(Exception):
    """Text: where."""
