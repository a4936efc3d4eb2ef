"""Ingestion's settings: read once from the environment, every fault reported at once.

Each setting is one row of SETTINGS: the variable, its default, its bounds and what it means. `--help` prints the rows.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from penstock.ingestion.gate import Limits
from penstock.serving.settings import existing_file, raise_if, read, rows, service_rows, tls_faults, whole

PREFIX = "PENSTOCK_INGESTION_"
KEY_BYTES_MIN = 16


@dataclass(frozen=True, slots=True)
class Config:
    listen: str
    metrics_listen: str
    workers: int
    kafka: Mapping[str, str]
    topic_prefix: str
    topic_map: Path | None
    topics: Literal["verify", "create"]
    pipeline: Path | None
    tls_certificate: Path | None
    tls_key: Path | None
    tls_client_ca: Path | None
    clock_keys: tuple[bytes, ...]
    clock_keys_are_random: bool
    drift_ppm_max: int
    server_skew_us: int
    token_age_max_s: int
    limits: Limits
    inflight_bytes_max: int
    produce_timeout_s: int
    stream_window_batches: int
    stream_window_bytes: int
    concurrent_rpcs_max: int
    connection_age_max_s: int
    drain_wait_s: int
    drain_grace_s: int
    recent_devices_max: int


def key_file(text: str) -> tuple[bytes, ...]:
    path = existing_file(text)
    if path is None:
        return ()
    keys = []
    for number, line in enumerate(path.read_text().split(), 1):
        try:
            key = base64.b64decode(line, validate=True)
        except binascii.Error as error:
            raise ValueError(f"names a file whose key {number} is not base64") from error
        if len(key) < KEY_BYTES_MIN:
            raise ValueError(
                f"names a file whose key {number} has {len(key)} bytes; at least {KEY_BYTES_MIN} are needed"
            )
        keys.append(key)
    if not keys:
        raise ValueError("names a file without keys")
    return tuple(keys)


SETTINGS = rows(
    PREFIX,
    *service_rows(7070, 9464),
    ("workers", "WORKERS", "1", whole(0, 256), "processes that serve; 0 is one per core"),
    ("clock_keys", "CLOCK_KEY_FILE", "", key_file, "base64 keys of clock tokens: the current one, then previous"),
    ("drift_ppm_max", "DRIFT_PPM_MAX", "200", whole(1, 10_000), "how fast a device's clock may drift"),
    ("server_skew_us", "SERVER_SKEW_US", "2000", whole(0, 10_000_000), "how far our pods' clocks may be apart"),
    ("token_age_max_s", "TOKEN_AGE_MAX_S", "1209600", whole(60, 31_536_000), "when a clock token expires"),
    ("request_bytes_max", "REQUEST_BYTES_MAX", "4194304", whole(1_024, 4_194_304), "largest request"),
    ("events_max", "EVENTS_MAX", "5000", whole(1, 100_000), "events per request"),
    ("attributes_max", "ATTRIBUTES_MAX", "64", whole(1, 1_024), "attributes per event"),
    ("attribute_name_bytes_max", "ATTRIBUTE_NAME_BYTES_MAX", "64", whole(1, 1_024), "bytes of a name"),
    ("attribute_value_bytes_max", "ATTRIBUTE_VALUE_BYTES_MAX", "8192", whole(1, 1 << 20), "bytes of a value"),
    ("data_bytes_max", "DATA_BYTES_MAX", "262144", whole(0, 4 << 20), "bytes of an event's data"),
    ("inflight_bytes_max", "INFLIGHT_BYTES_MAX", "67108864", whole(1 << 20, 1 << 34), "unconfirmed, per worker"),
    ("produce_timeout_s", "PRODUCE_TIMEOUT_S", "10", whole(1, 300), "when an unconfirmed record is given up"),
    ("stream_window_batches", "STREAM_WINDOW_BATCHES", "16", whole(1, 1_024), "under way per stream"),
    ("stream_window_bytes", "STREAM_WINDOW_BYTES", "8388608", whole(1_024, 1 << 30), "under way per stream"),
    ("recent_devices_max", "RECENT_DEVICES_MAX", "50000", whole(1, 10_000_000), "devices remembered per worker"),
)

LIMITS = tuple(Limits.__dataclass_fields__)


def load(environment: Mapping[str, str]) -> Config:
    values, faults = read(PREFIX, SETTINGS, environment)
    raise_if(faults + tls_faults(PREFIX, values))
    limits = Limits(**{name: values.pop(name) for name in LIMITS})
    kafka = {"bootstrap.servers": values.pop("bootstrap"), **values.pop("kafka_file")}
    given_keys = values.pop("clock_keys")
    return Config(
        **values,
        limits=limits,
        kafka=kafka,
        clock_keys=given_keys or (secrets.token_bytes(32),),
        clock_keys_are_random=not given_keys,
    )
