"""What there is before the first device: settings that all parts share, and who follows whom.

In:  how many devices there will be. Out: files in the state folder, named by the environment; follows in ingestion.
The pipeline is the default one, but for its timelines, which are short and take few followers for many: so that a
minute also shows what takes days elsewhere: timelines that are full, refills, celebrities whose posts readers merge.
The map of topics is the default one with fewer partitions: each costs every batch of the join a task, and one machine
gains nothing by them. Spark's JVM lives for minutes: it is not worth its while to optimise what it runs.
"""

import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from penstock.client import Plaintext, Publisher, PublisherSettings
from penstock.demo.population import own_device
from penstock.demo.society import merged_above
from penstock.pipeline import example

CAPACITY, SLACK = 200, 50
PARTITIONS = 2
_SPARK = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC\n"
_SETTINGS = PublisherSettings(buffer_events_max=50_000)


def pipeline_text(devices: int) -> str:
    """ValueError if the default one no longer says what is to be changed."""
    text = example("social")
    for name, value in (("capacity", CAPACITY), ("slack", SLACK), ("merge_at_read_above", merged_above(devices))):
        text, count = re.subn(rf"(?m)^(  {name}:) \d+$", rf"\1 {value}", text)
        if count != 1:
            raise ValueError(f"social.yaml has {count} lines that set {name}, not one")
    return text


def topics_text() -> str:
    shipped = resources.files("penstock.topics").joinpath("topics.yaml").read_text(encoding="utf-8")
    return re.sub(r"(?m)^(    partitions:) 8$", rf"\1 {PARTITIONS}", shipped)


def write_settings(folder: Path, devices: int) -> dict[str, str]:
    """The environment that names them."""
    texts = {
        "PENSTOCK_PIPELINE": ("pipeline.yaml", pipeline_text(devices)),
        "PENSTOCK_TOPIC_MAP": ("topics.yaml", topics_text()),
        "PENSTOCK_JOBS_SPARK_CONFIG_FILE": ("spark.properties", _SPARK),
    }
    for name, text in texts.values():
        (folder / name).write_text(text, encoding="utf-8")
    return {variable: str(folder / name) for variable, (name, _) in texts.items()}


def publish_follows(server: str, follows: Mapping[str, Sequence[str]]) -> int:
    """How many; all are acknowledged then. PenstockError if they cannot be."""
    count = 0
    with Publisher(server, own_device("import"), security=Plaintext(), settings=_SETTINGS) as publisher:
        for follower, authors in follows.items():
            for author in authors:
                publisher.publish("follow.created", {"follower": follower, "author": author})
                count += 1
    return count
