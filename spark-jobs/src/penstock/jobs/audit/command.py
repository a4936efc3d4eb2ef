"""`penstock-jobs audit`: 0 no differences, 1 some, 2 the audit could not be made."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from confluent_kafka import KafkaException
from penstock.document import InvalidDocumentError
from penstock.jobs import config as settings
from penstock.jobs.audit.audit import Audit
from penstock.jobs.java_clients import java_settings
from penstock.jobs.session import session, spark_settings
from penstock.pipeline import load as load_pipeline
from penstock.serving.errors import ConfigError
from penstock.topics import load as load_topics
from pyspark.errors import PySparkException

ROUNDS = 3


def audit(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    parser = argparse.ArgumentParser(
        prog="penstock-jobs audit",
        description="Recomputes every timeline from the tables' logs and compares it with what the service serves.",
    )
    parser.add_argument("--server", default="127.0.0.1:7072", help="address of the timeline service [%(default)s]")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often users that differ are compared")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    options = parser.parse_args(arguments)
    try:
        config = settings.load(environment)
        pipeline = load_pipeline(config.pipeline)
        if pipeline.timeline is None:
            raise ConfigError(["this pipeline has no timelines: its file lacks the section `timeline:`"])
        topics = load_topics(config.topic_map).for_tables(pipeline.tables).prefixed(config.topic_prefix)
        java = java_settings(config.kafka)
    except (ConfigError, InvalidDocumentError) as error:
        sys.stderr.write(f"penstock audit cannot start:\n{error}\n")
        return 2
    spark = session(config, spark_settings(config))
    try:
        report = Audit(spark, pipeline, pipeline.timeline, topics, config.kafka, java, options.server).run(
            options.rounds
        )
    except (PySparkException, KafkaException) as error:
        sys.stderr.write(f"penstock audit could not be made: {error}\n")
        return 2
    finally:
        spark.stop()
    sys.stdout.write((report.json() if options.json else report.text()) + "\n")
    return 1 if report.differences else 0
