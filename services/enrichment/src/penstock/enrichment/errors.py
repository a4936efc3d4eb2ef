"""Why a call is not answered.

ServiceError                 answered with its gRPC code and its text
├── NoSuchTable              the pipeline declares no table of this name
├── BadQuestion              the request makes no sense
└── NotYet                   the asked consistency was not reached within the deadline
"""

from __future__ import annotations

import grpc
from penstock.serving.errors import ServiceError


class NoSuchTable(ServiceError):
    code = grpc.StatusCode.NOT_FOUND


class BadQuestion(ServiceError):
    code = grpc.StatusCode.INVALID_ARGUMENT


class NotYet(ServiceError):
    code = grpc.StatusCode.FAILED_PRECONDITION
