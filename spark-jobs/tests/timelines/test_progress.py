from __future__ import annotations

import json

from penstock.events.v1.event_pb2 import Position
from penstock.jobs.timelines.progress import progress_of
from penstock.pipeline import load as load_pipeline
from penstock.topics import load


def test_that_positions_are_the_last_offsets_and_named_as_on_the_map() -> None:
    topics = load().for_tables(load_pipeline().tables).prefixed("a-")
    offsets = {"a-tables.posts.v1": {"1": 7, "0": 0}, "a-timeline.refills.v1": {"0": 1}}
    record = progress_of({"batchId": 5, "sources": [{"endOffset": json.dumps(offsets)}]}, [3, 0, 9], topics, 77)
    assert (record.query, record.batch, record.started_us) == ("timelines", 5, 77)
    assert list(record.reflects) == [
        Position(topic="tables.posts.v1", partition=1, offset=6),
        Position(topic="timeline.refills.v1", partition=0, offset=0),
    ]
    assert list(record.delivered) == [
        Position(topic="timeline.deliveries.v1", partition=0, offset=2),
        Position(topic="timeline.deliveries.v1", partition=2, offset=8),
    ]
