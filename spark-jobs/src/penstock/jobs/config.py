"""The jobs' settings: read once from the environment, every fault reported at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from penstock.serving.settings import address, existing_file, one_of, properties_file, raise_if, read, rows, text, whole

PREFIX = "PENSTOCK_JOBS_"


@dataclass(frozen=True, slots=True)
class Config:
    metrics_listen: str
    kafka: Mapping[str, str]
    topic_prefix: str
    topic_map: Path | None
    topics: Literal["verify", "create"]
    pipeline: Path | None
    checkpoints: str
    master: str
    jars: tuple[str, ...]
    spark: Mapping[str, str]
    driver_memory: str
    state_partitions: int
    records_max: int


def several(value: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in value.split(",") if one.strip())


SETTINGS = rows(
    PREFIX,
    ("metrics_listen", "METRICS_LISTEN", "0.0.0.0:9467", address, "where Prometheus scrapes"),
    ("bootstrap", "PENSTOCK_BOOTSTRAP", "127.0.0.1:9092", text, "Kafka's bootstrap servers"),
    ("kafka_file", "PENSTOCK_KAFKA_CONFIG_FILE", "", properties_file, "librdkafka settings, NAME=VALUE per line"),
    ("topic_prefix", "PENSTOCK_TOPIC_PREFIX", "", text, "stands before the names of topics and groups"),
    ("topic_map", "PENSTOCK_TOPIC_MAP", "", existing_file, "topics.yaml; default: the one that is shipped"),
    ("topics", "TOPICS", "verify", one_of("verify", "create"), "missing topics: verify (wait for them) or create"),
    ("pipeline", "PENSTOCK_PIPELINE", "", existing_file, "pipeline.yaml; default: the social pipeline"),
    (
        "checkpoints",
        "CHECKPOINTS",
        "",
        text,
        "folder or address that Spark keeps offsets and state below; `run` needs it",
    ),
    # In one process Spark tries a task once, whatever spark.task.maxFailures says: a worker that dies would end all.
    ("master", "MASTER", "local[2,4]", text, "Spark's master; local[CORES,FAILURES] is this process alone"),
    ("jars", "JARS", "", several, "jars of Spark's Kafka connector, comma separated; none: Spark's own, or the cache"),
    ("spark", "SPARK_CONFIG_FILE", "", properties_file, "more of Spark's settings, NAME=VALUE per line; they win"),
    ("driver_memory", "DRIVER_MEMORY", "1g", text, "the driver's heap"),
    ("state_partitions", "STATE_PARTITIONS", "2", whole(1, 1000), "tasks that share the shards; fixed by a checkpoint"),
    ("records_max", "RECORDS_MAX", "200000", whole(1, 10**9), "records read in one micro-batch"),
)


def load(environment: Mapping[str, str]) -> Config:
    values, faults = read(PREFIX, SETTINGS, environment)
    raise_if(faults)
    kafka = {"bootstrap.servers": values.pop("bootstrap"), **values.pop("kafka_file")}
    return Config(**values, kafka=kafka)
