"""Composition root: settings → gate → workers → exit code. `python -m penstock.ingestion --help` lists the settings."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from pathlib import Path

from penstock.document import InvalidDocumentError
from penstock.ingestion import config as settings
from penstock.ingestion.gate import Gate
from penstock.pipeline import load as load_pipeline
from penstock.serving.address import AddressInUse
from penstock.serving.errors import ConfigError
from penstock.serving.logs import configure
from penstock.serving.settings import usage
from penstock.topics import load as load_topics
from penstock.topics.errors import TopicMapError

logger = logging.getLogger("penstock.ingestion")


def main(arguments: list[str], environment: dict[str, str]) -> int:
    if arguments:
        return usage("penstock.ingestion", arguments, settings.SETTINGS)
    configure()
    try:
        config = settings.load(environment)
        pipeline = load_pipeline(config.pipeline)
        topics = load_topics(config.topic_map).prefixed(config.topic_prefix)
    except (ConfigError, InvalidDocumentError, TopicMapError) as error:
        sys.stderr.write(f"penstock ingestion cannot start:\n{error}\n")
        return 2
    if config.clock_keys_are_random:
        logger.warning("no clock key is configured: tokens are worth nothing to other pods or after a restart")
    gate = Gate(pipeline, config.limits)
    with tempfile.TemporaryDirectory(prefix="penstock-metrics-") as folder:
        # prometheus_client decides at import whether it shares its counts between processes.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        from penstock.ingestion.workers import run

        try:
            return run(config, gate, topics, Path(folder))
        except AddressInUse as error:
            sys.stderr.write(f"penstock ingestion cannot start:\n{error}\n")
            return 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:], dict(os.environ)))
