"""Look-ups, without a network: the rest is in integration-tests/test_enrichment.py."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import cast

import pytest
from penstock.enrich.v1 import enrich_pb2
from penstock.enrichment.consistency import Consistency
from penstock.enrichment.errors import BadQuestion, NoSuchTable, NotYet
from penstock.enrichment.follower import Follower
from penstock.enrichment.join.joiner import plans_of
from penstock.enrichment.metrics import Metrics
from penstock.enrichment.servicer import EnrichmentServicer
from penstock.enrichment.tables import UPSERT, Change, History, Table, Version
from penstock.events.v1.event_pb2 import (
    ENRICHMENT_STATUS_MATCHED,
    ENRICHMENT_STATUS_MISSING,
    ConsistencyToken,
    Event,
    Position,
)
from penstock.pipeline import load
from prometheus_client import CollectorRegistry

PIPELINE = load()
TOPICS = {name: f"tables.{name}.v1" for name in PIPELINE.tables}
LATER = ConsistencyToken(positions=[Position(topic="tables.profiles.v1", partition=0, offset=9)])
NOW_US = 1_000


class Tables:
    """As a follower that has applied one change of a profile."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tables = {name: Table(name, History(10, 10**15)) for name in PIPELINE.tables}
        change = Change("ann", UPSERT, {"country": "de"}, (), Version(500, b"p"))
        self.tables["profiles"].apply(change, 0, 0)

    def positions(self, table: str) -> dict[int, int]:
        return {0: 1} if table == "profiles" else {0: 0}

    def lags(self) -> dict[str, int]:
        return dict.fromkeys(self.tables, 3)

    def reflects(self, map_topic: str, partition: int, offset: int) -> bool | None:
        return offset < 1 if map_topic == "tables.profiles.v1" and partition == 0 else None

    def ends(self) -> dict[tuple[str, int], int]:
        return {}

    def holds(self, ends: Mapping[tuple[str, int], int]) -> bool:
        return not ends


def servicer() -> EnrichmentServicer:
    tables = Tables()
    return EnrichmentServicer(
        pipeline=PIPELINE,
        follower=cast(Follower, tables),  # the part of it that look-ups use
        topics=TOPICS,
        consistency=Consistency(tables, lambda partition: partition),
        plans=plans_of(PIPELINE, TOPICS),
        metrics=Metrics(CollectorRegistry()),
        batch_lookups_max=2,
        now_us=lambda: NOW_US,
    )


def lookup(key: str = "ann", **more: object) -> enrich_pb2.LookupRequest:
    return enrich_pb2.LookupRequest(table="profiles", key=key, **more)  # type: ignore[arg-type]  # fields of it


async def test_an_answer_carries_version_and_applied_offsets() -> None:
    found = await servicer().lookup(lookup(), 1)
    assert found.status == ENRICHMENT_STATUS_MATCHED
    assert dict(found.columns) == {"country": "de"}
    assert found.version.valid_from_us == 500
    assert list(found.applied) == [Position(topic="tables.profiles.v1", partition=0, offset=0)]
    assert not found.stale


async def test_as_of_a_time() -> None:
    assert (await servicer().lookup(lookup(as_of_us=499), 1)).status == ENRICHMENT_STATUS_MISSING
    assert (await servicer().lookup(lookup(as_of_us=500), 1)).status == ENRICHMENT_STATUS_MATCHED


async def test_a_token_that_is_not_reflected_in_time_is_an_error_unless_stale_is_allowed() -> None:
    with pytest.raises(NotYet, match="allow_stale"):
        await servicer().lookup(lookup(consistency=LATER), 0.01)
    found = await servicer().lookup(lookup(consistency=LATER, allow_stale=True), 0.01)
    assert found.stale
    assert found.status == ENRICHMENT_STATUS_MATCHED


async def test_many_at_once_within_a_limit() -> None:
    request = enrich_pb2.BatchLookupRequest(lookups=[lookup(), lookup("bob")])
    answer = await servicer().batch_lookup(request, 1)
    assert [one.status for one in answer.responses] == [ENRICHMENT_STATUS_MATCHED, ENRICHMENT_STATUS_MISSING]
    request.lookups.append(lookup())
    with pytest.raises(BadQuestion, match="at most 2"):
        await servicer().batch_lookup(request, 1)


async def test_a_table_that_is_not_declared() -> None:
    with pytest.raises(NoSuchTable, match=r"no table 'x'; there are: .*profiles"):
        await servicer().lookup(enrich_pb2.LookupRequest(table="x", key="k"), 1)
    with pytest.raises(NoSuchTable):
        await servicer().describe(enrich_pb2.DescribeRequest(table="x"), 1)


async def test_describe_counts_and_hashes() -> None:
    answer = await servicer().describe(enrich_pb2.DescribeRequest(table="profiles"), 1)
    (table,) = answer.tables
    assert (table.name, table.rows, table.versions, table.lag_records) == ("profiles", 1, 1, 3)
    assert table.content_hash == Tables().tables["profiles"].content_hash()
    every = await servicer().describe(enrich_pb2.DescribeRequest(), 1)
    assert [one.name for one in every.tables] == sorted(PIPELINE.tables)


async def test_a_preview_is_the_join_without_the_log() -> None:
    event = Event(type="page.viewed", device_id="d", attributes={"user": "ann", "page": "/"})
    answer = await servicer().preview(enrich_pb2.PreviewRequest(event=event), 1)
    assert answer.event.clock.corrected_us == NOW_US
    (one,) = answer.event.enrichments
    assert (one.status, dict(one.columns)) == (ENRICHMENT_STATUS_MATCHED, {"country": "de"})
    event.clock.corrected_us = 400
    answer = await servicer().preview(enrich_pb2.PreviewRequest(event=event), 1)
    assert answer.event.enrichments[0].status == ENRICHMENT_STATUS_MISSING


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Event(type="page.vewed"), "'page.vewed' is not declared"),
        (Event(type="page.viewed", attributes={"user": "ann"}), "requires the attributes page"),
    ],
)
async def test_a_preview_of_what_ingestion_would_refuse(event: Event, said: str) -> None:
    with pytest.raises(BadQuestion, match=said):
        await servicer().preview(enrich_pb2.PreviewRequest(event=event), 1)
