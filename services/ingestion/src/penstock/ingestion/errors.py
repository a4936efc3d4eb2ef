"""Why a whole request is not taken. (A single event that is not taken is a refusal in an answer that is OK.)

ServiceError                 answered with its gRPC code and its text
└── RequestError
    ├── BadRequest           the client's fault: sending it again will not help
    ├── Busy                 the service is full: send it again, later
    └── LogUnavailable       Kafka did not confirm in time: send it again, with the same identities
"""

from __future__ import annotations

import grpc
from penstock.serving.errors import ServiceError


class RequestError(ServiceError):
    """A request that is not taken."""


class BadRequest(RequestError):
    code = grpc.StatusCode.INVALID_ARGUMENT


class Busy(RequestError):
    code = grpc.StatusCode.RESOURCE_EXHAUSTED


class LogUnavailable(RequestError):
    code = grpc.StatusCode.UNAVAILABLE
