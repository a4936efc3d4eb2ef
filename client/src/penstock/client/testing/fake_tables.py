"""An enrichment service in memory, reachable over gRPC, whose tables a test fills.

In:  rows and deletions from a test, each a record of tables.<name>.v1, partition 0.
Out: answers as the real service would give them: as of a time, with versions, positions and tokens.
It never waits: what a token names is reflected, or the answer is FAILED_PRECONDITION at once.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Mapping
from concurrent import futures
from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn, Self

import grpc
from penstock.enrich.v1 import enrich_pb2_grpc
from penstock.enrich.v1.enrich_pb2 import (
    BatchLookupRequest,
    BatchLookupResponse,
    DescribeRequest,
    DescribeResponse,
    LookupRequest,
    LookupResponse,
    PreviewRequest,
    PreviewResponse,
)
from penstock.events.v1.event_pb2 import (
    ENRICHMENT_STATUS_DELETED,
    ENRICHMENT_STATUS_HISTORY_EVICTED,
    ENRICHMENT_STATUS_MATCHED,
    ENRICHMENT_STATUS_MISSING,
    ConsistencyToken,
    Position,
    RowVersion,
)

_WORKERS = 4


@dataclass(frozen=True, slots=True)
class _Version:
    valid_from_us: int
    position: bytes
    columns: Mapping[str, str] | None
    """None: deleted."""


class FakeTables(enrich_pb2_grpc.EnrichmentServiceServicer):
    """Use it as a context manager; `address` is where it listens."""

    def __init__(self, *tables: str) -> None:
        self.history_from_us = 0
        """A question about an earlier time is answered HISTORY_EVICTED."""
        self._tables: dict[str, dict[str, list[_Version]]] = {name: defaultdict(list) for name in tables}
        self._records = dict.fromkeys(tables, 0)
        self._lock = threading.Lock()
        self._server = grpc.server(futures.ThreadPoolExecutor(_WORKERS))
        enrich_pb2_grpc.add_EnrichmentServiceServicer_to_server(self, self._server)
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"

    def put(self, table: str, key: str, columns: Mapping[str, str], valid_from_us: int) -> ConsistencyToken:
        """A row as of a time; the token makes a look-up see it."""
        return self._add(table, key, dict(columns), valid_from_us)

    def delete(self, table: str, key: str, valid_from_us: int) -> ConsistencyToken:
        """The row is gone from this time on."""
        return self._add(table, key, None, valid_from_us)

    def _add(self, table: str, key: str, columns: Mapping[str, str] | None, valid_from_us: int) -> ConsistencyToken:
        with self._lock:
            offset, versions = self._records[table], self._tables[table][key]
            versions.append(_Version(valid_from_us, offset.to_bytes(8, "big"), columns))
            versions.sort(key=lambda version: (version.valid_from_us, version.position))
            self._records[table] += 1
        return ConsistencyToken(positions=[Position(topic=f"tables.{table}.v1", partition=0, offset=offset)])

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop(grace=0).wait()

    # What gRPC calls

    def Lookup(self, request: LookupRequest, context: grpc.ServicerContext) -> LookupResponse:  # noqa: N802 (gRPC's)
        stale = self._stale(request.consistency, request.allow_stale, context)
        return self._found(request, stale, context)

    def BatchLookup(self, request: BatchLookupRequest, context: grpc.ServicerContext) -> BatchLookupResponse:  # noqa: N802 (gRPC's)
        stale = self._stale(request.consistency, request.allow_stale, context)
        return BatchLookupResponse(responses=[self._found(one, stale, context) for one in request.lookups])

    def Describe(self, request: DescribeRequest, context: grpc.ServicerContext) -> DescribeResponse:  # noqa: N802 (gRPC's)
        names = [request.table] if request.table else sorted(self._tables)
        response = DescribeResponse()
        for name in names:
            rows = self._rows(name, context)
            content = repr(sorted((key, versions) for key, versions in rows.items())).encode()
            response.tables.add(
                name=name,
                rows=sum(versions[-1].columns is not None for versions in rows.values()),
                versions=sum(len(versions) for versions in rows.values()),
                bytes=len(content),
                applied=self._applied(name),
                content_hash=hashlib.sha256(content).digest(),
            )
        return response

    def Preview(self, request: PreviewRequest, context: grpc.ServicerContext) -> PreviewResponse:  # noqa: N802, ARG002 (gRPC's)
        """Tables only: there is no pipeline here that would say what is joined."""
        _abort(context, grpc.StatusCode.UNIMPLEMENTED, "the fake does not join")

    def _rows(self, table: str, context: grpc.ServicerContext) -> Mapping[str, list[_Version]]:
        if table not in self._tables:
            _abort(context, grpc.StatusCode.NOT_FOUND, f"no table {table!r}; there are: {', '.join(self._tables)}")
        return self._tables[table]

    def _applied(self, table: str) -> list[Position]:
        records = self._records[table]
        return [Position(topic=f"tables.{table}.v1", partition=0, offset=records - 1)] if records else []

    def _stale(self, token: ConsistencyToken, allowed: bool, context: grpc.ServicerContext) -> bool:
        ends = {f"tables.{name}.v1": records for name, records in self._records.items()}
        behind = any(place.offset >= ends.get(place.topic, place.offset + 1) for place in token.positions)
        if behind and not allowed:
            _abort(context, grpc.StatusCode.FAILED_PRECONDITION, "the tables do not reflect the token")
        return behind

    def _found(self, request: LookupRequest, stale: bool, context: grpc.ServicerContext) -> LookupResponse:
        rows = self._rows(request.table, context)
        as_of_us = request.as_of_us if request.HasField("as_of_us") else None
        response = LookupResponse(status=ENRICHMENT_STATUS_MISSING, stale=stale, applied=self._applied(request.table))
        valid = [v for v in rows.get(request.key, ()) if as_of_us is None or v.valid_from_us <= as_of_us]
        if as_of_us is not None and as_of_us < self.history_from_us:
            response.status = ENRICHMENT_STATUS_HISTORY_EVICTED
        elif valid:
            newest = valid[-1]
            gone = newest.columns is None
            response.status = ENRICHMENT_STATUS_DELETED if gone else ENRICHMENT_STATUS_MATCHED
            response.columns.update(newest.columns or {})
            response.version.CopyFrom(RowVersion(valid_from_us=newest.valid_from_us, position=newest.position))
        return response


def _abort(context: grpc.ServicerContext, code: grpc.StatusCode, detail: str) -> NoReturn:
    context.abort(code, detail)
