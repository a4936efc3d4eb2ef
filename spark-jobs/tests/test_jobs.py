from __future__ import annotations

from dataclasses import replace

import pytest
from penstock.jobs.jobs import JOBS
from penstock.pipeline import example, load, loads
from penstock.serving.errors import ConfigError
from penstock.topics import load as load_topics

SOCIAL = load()
TOPICS = load_topics().for_tables(SOCIAL.tables)


def test_that_the_join_names_what_it_reads_and_writes() -> None:
    assert JOBS["timelines"].topics(SOCIAL, TOPICS) == [
        "tables.posts.v1",
        "tables.follows.v1",
        "timeline.refills.v1",
        "timeline.deliveries.v1",
        "timeline.progress.v1",
    ]


def test_that_shards_which_do_not_match_are_refused() -> None:
    posts = TOPICS["tables.posts.v1"].model_copy(update={"partitions": 4})
    uneven = replace(TOPICS, topics={**TOPICS.topics, "tables.posts.v1": posts})
    with pytest.raises(ConfigError, match=r"tables\.posts\.v1 has 4, tables\.follows\.v1 has 8"):
        JOBS["timelines"].topics(SOCIAL, uneven)


def test_that_a_pipeline_without_timelines_is_refused() -> None:
    shop = loads(example("shop"), "shop.yaml")
    with pytest.raises(ConfigError, match="needs the section `timeline:`"):
        JOBS["timelines"].topics(shop, load_topics().for_tables(shop.tables))
