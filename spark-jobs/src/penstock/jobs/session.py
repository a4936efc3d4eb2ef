"""One Spark session for all jobs of the process."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping

from penstock.jobs.config import Config
from penstock.jobs.connector import connector_jars
from pyspark.sql import SparkSession

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def spark_settings(config: Config) -> dict[str, str]:
    """What we set; SPARK_CONFIG_FILE wins."""
    ours = {
        "spark.jars": ",".join(connector_jars(config.jars)),
        "spark.driver.memory": config.driver_memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(config.state_partitions),
        "spark.sql.adaptive.enabled": "false",  # streaming ignores it, and says so
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        # Ours are few and large values; the default of 64 MB a write buffer for each of many stores is for others.
        "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage": "true",
        "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": "256",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        "spark.sql.streaming.noDataProgressEventInterval": "2000",
        "spark.sql.streaming.minBatchesToRetain": "20",
        # A worker lives on between batches: it keeps decoded shards.
        "spark.python.worker.reuse": "true",
        "spark.task.maxFailures": "4",
        "spark.log.level": "WARN",
    }
    return {name: value for name, value in {**ours, **config.spark}.items() if value}


def session(config: Config, settings: Mapping[str, str]) -> SparkSession:
    # By settings alone the workers would find it, but not those that Spark starts beside the driver.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    builder = SparkSession.builder.appName("penstock-jobs").master(config.master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
