"""Asks the tables that enrichment keeps: a row as of a time, many rows at once, how far the tables have come.

In:  a table's name and a row's key; a time; the consistency token of a write that must be visible.
Out: rows, or a status that says why there is none; TablesError where nobody could answer.
Asks once: reading changes nothing, so a caller may ask again as it likes. May be shared by threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc
from google.rpc import code_pb2
from penstock.client.channel import CHANNEL_OPTIONS, Security, failure_of, open_channel
from penstock.client.errors import NoSuchTableError, TablesError, TablesNotYetVisibleError
from penstock.client.retry import Failure
from penstock.client.row import Key, Lookup, Moment, Row, TableState, request_of, row_of, state_of
from penstock.enrich.v1.enrich_pb2 import BatchLookupRequest, DescribeRequest, LookupResponse
from penstock.enrich.v1.enrich_pb2_grpc import EnrichmentServiceStub
from penstock.events.v1.event_pb2 import ConsistencyToken

_TIMEOUT_S = 5.0
_OPTIONS = (*CHANNEL_OPTIONS, ("grpc.max_receive_message_length", 64 << 20))  # a batch of many large rows
_Answer = TypeVar("_Answer")


class Tables:
    """The tables of one enrichment service; `timeout_s` is also how long an answer waits for its consistency token."""

    def __init__(self, server: str, *, security: Security, timeout_s: float = _TIMEOUT_S) -> None:
        if not timeout_s > 0:
            raise ValueError(f"timeout_s must be greater than 0, not {timeout_s:g}")
        self._server = server
        self._timeout_s = timeout_s
        self._channel = open_channel(server, security, _OPTIONS)
        self._stub = EnrichmentServiceStub(self._channel)

    def lookup(
        self,
        table: str,
        key: Key,
        *,
        as_of: Moment | None = None,
        consistency: ConsistencyToken | None = None,
        allow_stale: bool = False,
    ) -> Row:
        """One row. With a token the answer waits until the tables reflect that write.

        If they do not in time: NotYetVisibleError, or what is there, marked as stale, if the caller allows that.
        """
        request = request_of(Lookup(table, key, as_of))
        if consistency is not None:
            request.consistency.CopyFrom(consistency)
        request.allow_stale = allow_stale
        return self._row(self._ask(self._stub.Lookup, request))

    def batch_lookup(
        self,
        lookups: Sequence[Lookup],
        *,
        consistency: ConsistencyToken | None = None,
        allow_stale: bool = False,
    ) -> list[Row]:
        """Many rows of one state of the tables, in the order asked. The server says how many it answers at once."""
        request = BatchLookupRequest(
            lookups=[request_of(lookup) for lookup in lookups], consistency=consistency, allow_stale=allow_stale
        )
        return [self._row(response) for response in self._ask(self._stub.BatchLookup, request).responses]

    def describe(self, table: str | None = None) -> list[TableState]:
        """The tables, or one of them: rows, versions, memory, lag, applied offsets, hash of the content."""
        answer = self._ask(self._stub.Describe, DescribeRequest(table=table or ""))
        return [state_of(said) for said in answer.tables]

    def close(self) -> None:
        """Hangs up; calls under way fail."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, method: Callable[..., _Answer], request: Any) -> _Answer:
        try:
            return method(request, timeout=self._timeout_s)
        except grpc.RpcError as error:
            raise _error(self._server, failure_of(error)) from error

    def _row(self, response: LookupResponse) -> Row:
        try:
            return row_of(response)
        except ValueError as error:
            detail = f"enrichment at {self._server} answered status {response.status}, which this version does not know"
            raise TablesError("UNKNOWN", detail) from error


def _error(server: str, failure: Failure) -> TablesError:
    if failure.code == code_pb2.NOT_FOUND:
        return NoSuchTableError(failure.code_name, failure.detail)
    if failure.code == code_pb2.FAILED_PRECONDITION:
        return TablesNotYetVisibleError(failure.code_name, failure.detail)
    if failure.code == code_pb2.UNIMPLEMENTED:
        return TablesError(failure.code_name, f"{server} is no enrichment service: it does not know the question")
    return TablesError(failure.code_name, f"enrichment at {server} answered {failure}")
