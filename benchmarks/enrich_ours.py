"""Our side of bench-enrich: raw batches as a real ingestion writes them, the table's log, and one enrichment.

In:  requests and row changes. Out: the bytes of events.raw.v1, kept to be written again when a race begins; a
     contestant that has done its work only when the rows it wrote can be looked up.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Iterable

import grpc
from enrich_log import Log, Record
from enrich_race import Contestant
from load import send
from penstock.embedded.services import Service, start_enrichment, start_ingestion
from penstock.embedded.supervisor import Supervisor
from penstock.enrich.v1.enrich_pb2 import LookupRequest
from penstock.enrich.v1.enrich_pb2_grpc import EnrichmentServiceStub
from penstock.events.v1.raw_batch_pb2 import RawBatchView
from penstock.pipeline import load as load_pipeline
from penstock.tables.v1.row_change_pb2 import RowChange
from penstock.topics import load as load_topics
from penstock.topics.content import content
from penstock.topics.kafka import ensure

RAW, ENRICHED, PROFILES, POSTS = "events.raw.v1", "events.enriched.v1", "tables.profiles.v1", "tables.posts.v1"
CAPTURED = "cdc.app.profiles"
STAGING = "staged-"
GROUP = "penstock-enrichment"
UNDER_WAY = 4


def stage(supervisor: Supervisor, bootstrap: str, requests: list[bytes], events: int) -> dict[str, list[Record]]:
    """Sends requests through a real ingestion, which then ends; what it wrote, by the boot that sent it."""
    ingestion = start_ingestion(supervisor, bootstrap, environment={"PENSTOCK_TOPIC_PREFIX": STAGING})
    acknowledged = asyncio.run(send(ingestion.address, requests, UNDER_WAY)).acknowledged
    if acknowledged != events:
        raise SystemExit(f"ingestion acknowledged {acknowledged} of {events} events")
    supervisor.end("ingestion")
    staged: dict[str, list[Record]] = {}
    for message in content({"bootstrap.servers": bootstrap}, STAGING + RAW):
        value = message.value() or b""
        boot_id = RawBatchView.FromString(value).boot_id
        staged.setdefault(boot_id, []).append(Record(message.key() or b"", value))
    return staged


def write_table(log: Log, bootstrap: str, changes: Iterable[RowChange]) -> None:
    topics = load_topics().for_tables(load_pipeline(None).tables)
    ensure({"bootstrap.servers": bootstrap}, topics, names=[PROFILES, RAW, ENRICHED, POSTS])
    # Debezium's, which stays empty: enrichment looks there, too.
    log.create(CAPTURED, partitions=1)
    log.write(PROFILES, (Record(change.key.encode(), change.SerializeToString()) for change in changes))


def start(supervisor: Supervisor, bootstrap: str, log: Log, batches_max: int) -> tuple[Contestant, Service]:
    """`batches_max`: in one transaction."""
    environment = {"PENSTOCK_ENRICHMENT_RECORDS_MAX": str(batches_max)}
    service = start_enrichment(supervisor, bootstrap, environment=environment)
    return Contestant("enrichment", GROUP, lambda: reflects(service.address, "posts", log.ends(POSTS))), service


def has_read_all(log: Log) -> bool:
    return all(map(operator.ge, log.committed(GROUP, RAW), log.ends(RAW)))


def reflects(address: str, table: str, ends: list[int]) -> bool:
    """Whether look-ups are answered from all that the table's log holds."""
    with grpc.insecure_channel(address) as channel:
        answer = EnrichmentServiceStub(channel).Lookup(LookupRequest(table=table, key="-"), timeout=30)
    applied = {place.partition: place.offset + 1 for place in answer.applied}
    return all(applied.get(number, 0) >= end for number, end in enumerate(ends))
