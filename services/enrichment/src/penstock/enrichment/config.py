"""Enrichment's settings: read once from the environment, every fault reported at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from penstock.serving.settings import raise_if, read, rows, service_rows, text, tls_faults, whole

PREFIX = "PENSTOCK_ENRICHMENT_"


@dataclass(frozen=True, slots=True)
class Config:
    listen: str
    metrics_listen: str
    kafka: Mapping[str, str]
    topic_prefix: str
    topic_map: Path | None
    topics: Literal["verify", "create"]
    pipeline: Path | None
    instance: str
    group: str
    state_folder: Path | None
    snapshot_changes: int
    records_max: int
    horizon_events_max: int
    horizon_age_s: int
    boots_max: int
    batch_lookups_max: int
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
    path.mkdir(parents=True, exist_ok=True)
    return path


SETTINGS = rows(
    PREFIX,
    *service_rows(7071, 9465),
    ("instance", "INSTANCE", "0", text, "names this instance among its like, stable over restarts: the pod's name"),
    ("group", "GROUP", "penstock-enrichment", text, "the consumer group; instances of one share the work"),
    ("state_folder", "STATE_FOLDER", "", folder, "where snapshots of tables are kept; none: tables load from the log"),
    ("snapshot_changes", "SNAPSHOT_CHANGES", "100000", whole(1, 10**9), "changes of a table between two snapshots"),
    ("records_max", "RECORDS_MAX", "100", whole(1, 10_000), "raw records per transaction"),
    ("horizon_events_max", "HORIZON_EVENTS_MAX", "200000", whole(1, 10**8), "events that can still be corrected"),
    ("horizon_age_s", "HORIZON_AGE_S", "600", whole(1, 86_400), "how long an event can still be corrected"),
    ("boots_max", "BOOTS_MAX", "200000", whole(1, 10**8), "device boots remembered per partition, for duplicates"),
    ("batch_lookups_max", "BATCH_LOOKUPS_MAX", "1000", whole(1, 100_000), "look-ups in one BatchLookup"),
    ("failpoints", "FAILPOINTS", "", text, "for crash tests only: NAME=PERMILLE, separated by commas"),
)


def load(environment: Mapping[str, str]) -> Config:
    values, faults = read(PREFIX, SETTINGS, environment)
    raise_if(faults + tls_faults(PREFIX, values))
    kafka = {"bootstrap.servers": values.pop("bootstrap"), **values.pop("kafka_file")}
    return Config(**values, kafka=kafka)
