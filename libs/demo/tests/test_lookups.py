from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
import pytest
from penstock.demo.lookups import KEYS_PER_CALL, Lookups, differing
from penstock.demo.truth import Valid
from penstock.enrich.v1.enrich_pb2 import (
    BatchLookupRequest,
    BatchLookupResponse,
    DescribeRequest,
    DescribeResponse,
    LookupResponse,
)
from penstock.events.v1.event_pb2 import ENRICHMENT_STATUS_DELETED, ENRICHMENT_STATUS_MATCHED, RowVersion

ANN = {"name": "Ann"}
MATCHED = Valid(ENRICHMENT_STATUS_MATCHED, ANN, 100)
DELETED = Valid(ENRICHMENT_STATUS_DELETED, {}, 200)


class FakeEnrichment:
    """Every row exists, with its key as its name."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def handler(self) -> grpc.GenericRpcHandler:
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            "BatchLookup": grpc.unary_unary_rpc_method_handler(
                self.batch_lookup, BatchLookupRequest.FromString, BatchLookupResponse.SerializeToString
            ),
            "Describe": grpc.unary_unary_rpc_method_handler(
                self.describe, DescribeRequest.FromString, DescribeResponse.SerializeToString
            ),
        }
        return grpc.method_handlers_generic_handler("penstock.enrich.v1.EnrichmentService", methods)

    def batch_lookup(self, request: BatchLookupRequest, context: grpc.ServicerContext) -> BatchLookupResponse:
        self.asked.append(len(request.lookups))
        answers = [
            LookupResponse(
                status=ENRICHMENT_STATUS_MATCHED,
                columns={"name": one.key, "table": one.table},
                version=RowVersion(valid_from_us=7),
            )
            for one in request.lookups
        ]
        return BatchLookupResponse(responses=answers)

    def describe(self, request: DescribeRequest, context: grpc.ServicerContext) -> DescribeResponse:
        response = DescribeResponse()
        response.tables.add(name=request.table, rows=285)
        return response


@pytest.fixture
def enrichment() -> FakeEnrichment:
    return FakeEnrichment()


@pytest.fixture
def lookups(enrichment: FakeEnrichment) -> Iterator[Lookups]:
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((enrichment.handler(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with Lookups(f"127.0.0.1:{port}", "profiles") as lookups:
        yield lookups
    server.stop(None).wait()


def test_many_keys_take_several_calls(lookups: Lookups, enrichment: FakeEnrichment) -> None:
    keys = [f"u{number}" for number in range(KEYS_PER_CALL + 3)]
    found = lookups.newest(keys)
    assert list(found) == keys
    assert found["u3"] == Valid(ENRICHMENT_STATUS_MATCHED, {"name": "u3", "table": "profiles"}, 7)
    assert enrichment.asked == [KEYS_PER_CALL, 3]


def test_how_many_rows_there_are(lookups: Lookups) -> None:
    assert lookups.rows() == 285


@pytest.mark.parametrize(
    ("database", "truth", "table", "count"),
    [
        ({"ann": ANN}, {"ann": MATCHED, "ben": DELETED}, {"ann": MATCHED, "ben": DELETED}, 0),
        ({"ann": ANN}, {"ann": MATCHED}, {"ann": MATCHED._replace(since_us=99)}, 1),
        ({"ann": ANN}, {"ann": MATCHED}, {"ann": DELETED}, 1),
        ({"ann": {"name": "Anna"}}, {"ann": MATCHED}, {"ann": MATCHED}, 1),
        ({}, {"ann": MATCHED}, {"ann": MATCHED}, 1),
        ({"ann": ANN, "ben": ANN}, {"ann": MATCHED}, {"ann": MATCHED}, 1),
    ],
)
def test_a_row_differs_if_any_of_the_three_says_something_else(
    database: dict[str, dict[str, str]], truth: dict[str, Valid], table: dict[str, Valid], count: int
) -> None:
    assert differing(database, truth, table) == count
