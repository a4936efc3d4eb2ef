"""What there is before the first device: the pipeline, and who follows whom.

In:  how many devices there will be. Out: a pipeline.yaml in the state folder; follows in ingestion.
The pipeline is the default one, but for its timelines, which are short and take few followers for many: so that a
minute also shows what takes days elsewhere: timelines that are full, refills, celebrities whose posts readers merge.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock.client import Plaintext, Publisher, PublisherSettings
from penstock.demo.population import own_device
from penstock.demo.society import merged_above
from penstock.pipeline import example

CAPACITY, SLACK = 200, 50
_SETTINGS = PublisherSettings(buffer_events_max=50_000)


def pipeline_text(devices: int) -> str:
    """ValueError if the default one no longer says what is to be changed."""
    text = example("social")
    for name, value in (("capacity", CAPACITY), ("slack", SLACK), ("merge_at_read_above", merged_above(devices))):
        text, count = re.subn(rf"(?m)^(  {name}:) \d+$", rf"\1 {value}", text)
        if count != 1:
            raise ValueError(f"social.yaml has {count} lines that set {name}, not one")
    return text


def write_pipeline(folder: Path, devices: int) -> Path:
    file = folder / "pipeline.yaml"
    file.write_text(pipeline_text(devices), encoding="utf-8")
    return file


def publish_follows(server: str, follows: Mapping[str, Sequence[str]]) -> int:
    """How many; all are acknowledged then. PenstockError if they cannot be."""
    count = 0
    with Publisher(server, own_device("import"), security=Plaintext(), settings=_SETTINGS) as publisher:
        for follower, authors in follows.items():
            for author in authors:
                publisher.publish("follow.created", {"follower": follower, "author": author})
                count += 1
    return count
