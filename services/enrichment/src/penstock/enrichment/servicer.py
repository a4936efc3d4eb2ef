"""Look-ups in the tables: gRPC in, table, gRPC out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message
from penstock.enrich.v1 import enrich_pb2
from penstock.enrichment.consistency import Consistency
from penstock.enrichment.errors import BadQuestion, NoSuchTable, NotYet
from penstock.enrichment.follower import Follower
from penstock.enrichment.join.joiner import Plan, join_fresh
from penstock.enrichment.metrics import Metrics
from penstock.enrichment.tables import Found
from penstock.enrichment.tables.hashing import content_hash
from penstock.events.v1.event_pb2 import ConsistencyToken, EnrichmentStatus, Event, Position, RowVersion
from penstock.pipeline import Pipeline
from penstock.serving.calls import Calls

SERVICE = "penstock.enrich.v1.EnrichmentService"
# Without a deadline of the caller's own.
PATIENCE_S = 5.0
Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"
Request = TypeVar("Request", bound=Message)


class EnrichmentServicer:
    def __init__(
        self,
        *,
        pipeline: Pipeline,
        follower: Follower,
        topics: Mapping[str, str],
        consistency: Consistency,
        plans: Mapping[str, Sequence[Plan]],
        metrics: Metrics,
        batch_lookups_max: int,
        now_us: Callable[[], int],
    ) -> None:
        self._pipeline = pipeline
        self._follower = follower
        self._topics = topics
        self._consistency = consistency
        self._plans = plans
        self._batch_lookups_max = batch_lookups_max
        self._now_us = now_us
        self._hashing = asyncio.Lock()
        self._hashes: dict[str, tuple[tuple[tuple[int, int], ...], bytes]] = {}
        self._calls = {
            name: Calls(metrics.calls, "unary", SERVICE, name)
            for name in ("Lookup", "BatchLookup", "Describe", "Preview")
        }

    def handler(self) -> grpc.GenericRpcHandler:
        methods = {
            "Lookup": self._method("Lookup", enrich_pb2.LookupRequest, self.lookup),
            "BatchLookup": self._method("BatchLookup", enrich_pb2.BatchLookupRequest, self.batch_lookup),
            "Describe": self._method("Describe", enrich_pb2.DescribeRequest, self.describe),
            "Preview": self._method("Preview", enrich_pb2.PreviewRequest, self.preview),
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    def _method(
        self, name: str, kind: type[Request], answer: Callable[[Request, float], Awaitable[Message]]
    ) -> grpc.RpcMethodHandler[bytes, bytes]:
        async def method(raw: bytes, context: Context) -> bytes:
            async def call() -> bytes:
                try:
                    request = kind.FromString(raw)
                except DecodeError as error:
                    raise BadQuestion(f"not a {kind.DESCRIPTOR.full_name}") from error
                remaining = context.time_remaining()
                patience_s = PATIENCE_S if remaining is None else max(0.0, remaining - max(0.02, remaining / 10))
                return (await answer(request, patience_s)).SerializeToString()

            return await self._calls[name].run(context, call)

        return grpc.unary_unary_rpc_method_handler(method)

    async def lookup(self, request: enrich_pb2.LookupRequest, patience_s: float) -> enrich_pb2.LookupResponse:
        stale = await self._stale(request.consistency, patience_s, allowed=request.allow_stale)
        with self._follower.lock:
            return self._found(request, stale)

    async def batch_lookup(
        self, request: enrich_pb2.BatchLookupRequest, patience_s: float
    ) -> enrich_pb2.BatchLookupResponse:
        if len(request.lookups) > self._batch_lookups_max:
            raise BadQuestion(f"{len(request.lookups)} look-ups: at most {self._batch_lookups_max} are allowed")
        stale = await self._stale(request.consistency, patience_s, allowed=request.allow_stale)
        with self._follower.lock:
            return enrich_pb2.BatchLookupResponse(responses=[self._found(one, stale) for one in request.lookups])

    async def _stale(self, token: ConsistencyToken, patience_s: float, *, allowed: bool) -> bool:
        if await self._consistency.reached(token, patience_s):
            return False
        if allowed:
            return True
        raise NotYet(
            f"the tables do not reflect the token after {patience_s:.1f} s; wait longer, or set allow_stale",
            retry_after_ms=200,
        )

    def _found(self, request: enrich_pb2.LookupRequest, stale: bool) -> enrich_pb2.LookupResponse:
        table = self._follower.tables.get(request.table)
        if table is None:
            raise NoSuchTable(f"no table {request.table!r}; there are: {', '.join(sorted(self._pipeline.tables))}")
        as_of = request.as_of_us if request.HasField("as_of_us") else None
        found = table.newest(request.key) if as_of is None else table.as_of(request.key, as_of)
        response = _response(found)
        response.stale = stale
        response.applied.extend(self._applied(request.table))
        return response

    def _applied(self, table: str) -> list[Position]:
        """The newest record of each partition that the table holds."""
        offsets = self._follower.positions(table)
        return [Position(topic=self._topics[table], partition=n, offset=end - 1) for n, end in offsets.items() if end]

    async def describe(self, request: enrich_pb2.DescribeRequest, _: float) -> enrich_pb2.DescribeResponse:
        names = [request.table] if request.table else sorted(self._follower.tables)
        unknown = [name for name in names if name not in self._follower.tables]
        if unknown:
            raise NoSuchTable(f"no table {unknown[0]!r}; there are: {', '.join(sorted(self._pipeline.tables))}")
        lags = self._follower.lags()
        return enrich_pb2.DescribeResponse(tables=[await self._description(name, lags[name]) for name in names])

    async def _description(self, name: str, lag: int) -> enrich_pb2.TableDescription:
        table = self._follower.tables[name]
        with self._follower.lock:
            image = table.image()
            described = enrich_pb2.TableDescription(
                name=name,
                rows=table.rows,
                versions=table.versions,
                bytes=table.memory_bytes,
                applied=self._applied(name),
                lag_records=lag,
            )
        # Seconds, for a million rows: without the lock, beside the event loop, one at a time, and once per content.
        state = tuple(sorted((place.partition, place.offset) for place in described.applied))
        async with self._hashing:
            known = self._hashes.get(name)
            if known is None or known[0] != state:
                known = self._hashes[name] = state, await asyncio.to_thread(content_hash, image)
        described.content_hash = known[1]
        return described

    async def preview(self, request: enrich_pb2.PreviewRequest, _: float) -> enrich_pb2.PreviewResponse:
        event = request.event
        declared = self._pipeline.event_types.get(event.type)
        if declared is None:
            raise BadQuestion(f"type {event.type!r} is not declared in pipeline.yaml")
        missing = [name for name in declared.required if not event.attributes.get(name)]
        if missing:
            raise BadQuestion(f"{event.type} requires the attributes {', '.join(missing)}")
        t_us = event.clock.corrected_us or self._now_us()
        with self._follower.lock:
            answers = join_fresh(self._plans.get(event.type, ()), self._follower.tables, event, t_us)
        enriched = Event()
        enriched.CopyFrom(event)
        enriched.key = event.attributes[declared.key] if declared.key is not None else event.device_id
        enriched.clock.corrected_us = t_us
        enriched.MergeFromString(b"".join(answer.encoded for answer in answers))
        return enrich_pb2.PreviewResponse(event=enriched)


def _response(found: Found) -> enrich_pb2.LookupResponse:
    response = enrich_pb2.LookupResponse(
        status=EnrichmentStatus.ValueType(int(found.status)), columns=found.columns, unknown_columns=found.unknown
    )
    if found.version is not None:
        response.version.CopyFrom(
            RowVersion(valid_from_us=found.version.valid_from_us, position=found.version.position)
        )
    return response
