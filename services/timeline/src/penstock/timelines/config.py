"""The timeline service's settings: read once from the environment, every fault reported at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from penstock.serving.settings import (
    address,
    existing_file,
    raise_if,
    read,
    rows,
    service_rows,
    text,
    tls_faults,
    whole,
)
from penstock.timelines.failpoints import parsed

PREFIX = "PENSTOCK_TIMELINE_"
REPLICAS_MAX = 1_024


@dataclass(frozen=True, slots=True)
class Config:
    listen: str
    metrics_listen: str
    kafka: Mapping[str, str]
    topic_prefix: str
    topic_map: Path | None
    topics: Literal["verify", "create"]
    pipeline: Path | None
    replica: int
    replicas: int
    peers: tuple[str, ...]
    peer_ca: Path | None
    state_folder: Path | None
    snapshot_entries: int
    snapshot_age_s: int
    enrichment_group: str
    limit_default: int
    limit_max: int
    batch_reads_max: int
    subscribers_max: int
    subscriber_queue: int
    heartbeat_s: int
    refills_max: int
    refill_retry_s: int
    patience_s: int
    tls_certificate: Path | None
    tls_key: Path | None
    tls_client_ca: Path | None
    concurrent_rpcs_max: int
    connection_age_max_s: int
    drain_wait_s: int
    drain_grace_s: int
    failpoints: str


def folder(value: str) -> Path | None:
    if not value:
        return None
    path = Path(value)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"is no folder and cannot be made one: {error.strerror}") from error
    return path


def replica(value: str) -> int:
    """Also from the name of a StatefulSet's pod, which ends in its number."""
    found = re.fullmatch(r"(?:[A-Za-z0-9.-]*-)?([0-9]{1,6})", value)
    if found is None:
        raise ValueError("must be a number, or a name that ends in one, as penstock-timeline-3")
    return int(found[1])


def addresses(value: str) -> tuple[str, ...]:
    """Of all replicas, or one that has {replica} in it."""
    given = tuple(one.strip() for one in value.split(",")) if value else ()
    for one in given:
        try:
            address(one.replace("{replica}", "0"))
        except ValueError:
            raise ValueError(f"has {one!r}, which is not HOST:PORT") from None
    return given


def failpoint_odds(value: str) -> str:
    parsed(value)
    return value


SETTINGS = rows(
    PREFIX,
    *service_rows(7072, 9466),
    ("replica", "REPLICA", "0", replica, "this one's number among the replicas, or a name that ends in it: the pod's"),
    ("replicas", "REPLICAS", "1", whole(1, REPLICAS_MAX), "how many there are; partition p belongs to p mod replicas"),
    ("peers", "PEERS", "", addresses, "gRPC addresses of all replicas in order, or one with {replica} in it"),
    ("peer_ca", "PEER_CA", "", existing_file, "with TLS: PEM roots to check replicas with; none: those of gRPC"),
    ("state_folder", "STATE_FOLDER", "", folder, "where snapshots are kept; none: all is read from the log at a start"),
    ("snapshot_entries", "SNAPSHOT_ENTRIES", "5000000", whole(1, 10**12), "a snapshot after so many changed entries"),
    ("snapshot_age_s", "SNAPSHOT_AGE_S", "300", whole(1, 86_400), "a snapshot after this, if anything has changed"),
    ("enrichment_group", "ENRICHMENT_GROUP", "penstock-enrichment", text, "the consumer group of enrichment"),
    ("limit_default", "LIMIT_DEFAULT", "50", whole(1, 100_000), "posts of a page where the caller does not say"),
    ("limit_max", "LIMIT_MAX", "1000", whole(1, 100_000), "posts of a page at most; not below the capacity"),
    ("batch_reads_max", "BATCH_READS_MAX", "100", whole(1, 10_000), "pages in one GetTimelines"),
    ("subscribers_max", "SUBSCRIBERS_MAX", "1000", whole(1, 1_000_000), "subscriptions under way"),
    ("subscriber_queue", "SUBSCRIBER_QUEUE", "256", whole(1, 100_000), "changes that a subscriber may be behind"),
    ("heartbeat_s", "HEARTBEAT_S", "10", whole(1, 3_600), "a quiet subscription says so this often"),
    ("refills_max", "REFILLS_MAX", "1000", whole(1, 1_000_000), "refills asked for and not answered yet"),
    ("refill_retry_s", "REFILL_RETRY_S", "30", whole(1, 86_400), "a refill is asked for again after this, then rarer"),
    ("patience_s", "PATIENCE_S", "5", whole(1, 600), "how long a call without a deadline waits to be consistent"),
    ("failpoints", "FAILPOINTS", "", failpoint_odds, "for crash tests only: NAME=PERMILLE, separated by commas"),
)


def load(environment: Mapping[str, str]) -> Config:
    values, faults = read(PREFIX, SETTINGS, environment)
    raise_if(faults + tls_faults(PREFIX, values) + _faults(values))
    kafka = {"bootstrap.servers": values.pop("bootstrap"), **values.pop("kafka_file")}
    if any("{replica}" in peer for peer in values["peers"]):
        values["peers"] = tuple(values["peers"][0].replace("{replica}", str(n)) for n in range(values["replicas"]))
    return Config(**values, kafka=kafka)


def _faults(values: Mapping[str, Any]) -> list[str]:
    """Of settings that must fit each other; each was fit to be read."""
    if not {"replica", "replicas", "peers", "limit_default", "limit_max"} <= values.keys():
        return []
    faults, number, count, peers = [], values["replica"], values["replicas"], values["peers"]
    if number >= count:
        faults.append(f"{PREFIX}REPLICA is {number}, but there are {count}, counted from 0 ({PREFIX}REPLICAS)")
    template = any("{replica}" in peer for peer in peers)
    if count > 1 and not peers:
        faults.append(f"{PREFIX}PEERS must be given where {PREFIX}REPLICAS is more than 1")
    elif template and len(peers) > 1:
        faults.append(f"{PREFIX}PEERS must be one address with {{replica}} in it, or all addresses without")
    elif peers and not template and len(peers) != count:
        faults.append(f"{PREFIX}PEERS has {len(peers)} addresses, but there are {count} replicas ({PREFIX}REPLICAS)")
    if values["limit_default"] > values["limit_max"]:
        faults.append(f"{PREFIX}LIMIT_DEFAULT is more than {PREFIX}LIMIT_MAX")
    return faults
