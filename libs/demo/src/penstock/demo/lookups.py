"""Enrichment's table as its gRPC interface shows it: how many rows, and which versions of them.

In:  keys. Out: what enrichment answers for each, as of now.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import Self

import grpc
from penstock.demo.truth import Valid
from penstock.enrich.v1.enrich_pb2 import BatchLookupRequest, DescribeRequest, LookupRequest, LookupResponse
from penstock.enrich.v1.enrich_pb2_grpc import EnrichmentServiceStub

KEYS_PER_CALL = 250
CALL_TIMEOUT_S = 15.0


class Lookups:
    """Use as a context manager. May be called from any thread."""

    def __init__(self, address: str, table: str) -> None:
        self._channel = grpc.insecure_channel(address)
        self._stub = EnrichmentServiceStub(self._channel)
        self._table = table

    def rows(self) -> int:
        """How many exist now."""
        (table,) = self._stub.Describe(DescribeRequest(table=self._table), timeout=CALL_TIMEOUT_S).tables
        return table.rows

    def newest(self, keys: Iterable[str]) -> dict[str, Valid]:
        """By key."""
        return {
            key: _valid(answer) for some in _chunks(keys) for key, answer in zip(some, self._ask(some), strict=True)
        }

    def _ask(self, keys: Sequence[str]) -> Sequence[LookupResponse]:
        asked = BatchLookupRequest(lookups=[LookupRequest(table=self._table, key=key) for key in keys])
        return self._stub.BatchLookup(asked, timeout=CALL_TIMEOUT_S).responses

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._channel.close()


def differing(database: Mapping[str, Mapping[str, str]], truth: Mapping[str, Valid], table: Mapping[str, Valid]) -> int:
    """Rows of which the table does not say what the database has, or not since when."""
    return sum(
        dict(table[user].columns) != database.get(user, {})
        or (table[user].status, table[user].since_us) != (valid.status, valid.since_us)
        for user, valid in truth.items()
    ) + len(database.keys() - truth.keys())


def _valid(answer: LookupResponse) -> Valid:
    return Valid(answer.status, dict(answer.columns), answer.version.valid_from_us)


def _chunks(keys: Iterable[str]) -> Iterator[list[str]]:
    left = iter(keys)
    while some := list(islice(left, KEYS_PER_CALL)):
        yield some
