"""Where the jars of Spark's Kafka connector are.

In:  the setting PENSTOCK_JOBS_JARS. Out: jars to hand to Spark.
An image has them among Spark's own jars. On a developer's machine the cache of jars (penstock-embedded, which an image
does not have) fetches them once, pinned.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pyspark
from penstock.serving.errors import ConfigError

CONNECTOR = "spark-sql-kafka-*.jar"
JAR_SET = "spark-kafka"


def connector_jars(given: Sequence[str]) -> Sequence[str]:
    if given:
        missing = [jar for jar in given if "://" not in jar and not Path(jar).is_file()]
        if missing:
            raise ConfigError([f"PENSTOCK_JOBS_JARS names {jar}, which does not exist" for jar in missing])
        return given
    if any((Path(pyspark.__file__).parent / "jars").glob(CONNECTOR)):
        return ()
    if find_spec("penstock.embedded") is None:
        raise ConfigError(
            ["Spark has no Kafka connector: name its jars in PENSTOCK_JOBS_JARS, or put them beside Spark's"]
        )
    jars, java = import_module("penstock.embedded.jars"), import_module("penstock.embedded.java")
    return [str(path) for path in jars.ensure(JAR_SET, java.find_java())]
