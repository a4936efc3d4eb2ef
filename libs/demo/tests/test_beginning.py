from pathlib import Path

import pytest
from penstock.client.testing import FakeIngest
from penstock.demo import beginning
from penstock.demo.beginning import CAPACITY, PARTITIONS, SLACK, pipeline_text, publish_follows, write_settings
from penstock.pipeline import load, loads
from penstock.topics import load as load_topics


def test_the_pipeline_is_the_default_one_but_for_its_timelines(tmp_path: Path) -> None:
    environment = write_settings(tmp_path, 200)
    ours, default = load(Path(environment["PENSTOCK_PIPELINE"])), load()
    assert ours.timeline is not None
    assert default.timeline is not None
    assert (ours.timeline.capacity, ours.timeline.slack, ours.timeline.merge_at_read_above) == (CAPACITY, SLACK, 200)
    assert ours.model_copy(update={"timeline": default.timeline}) == default


def test_topics_have_fewer_partitions(tmp_path: Path) -> None:
    ours = load_topics(Path(write_settings(tmp_path, 200)["PENSTOCK_TOPIC_MAP"])).for_tables(load().tables)
    assert ours["tables.posts.v1"].partitions == ours["timeline.refills.v1"].partitions == PARTITIONS
    assert ours["timeline.deliveries.v1"].partitions == PARTITIONS
    assert ours["timeline.progress.v1"].partitions == 1


def test_the_smallest_demo_has_a_pipeline_too() -> None:
    assert loads(pipeline_text(1), "demo").timeline is not None


def test_a_default_pipeline_that_has_changed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beginning, "example", lambda _: "timeline: {}")
    with pytest.raises(ValueError, match="0 lines that set capacity"):
        pipeline_text(200)


def test_every_follow_is_published_by_a_device_of_the_demo_itself() -> None:
    with FakeIngest() as ingest:
        assert publish_follows(ingest.address, {"u1": ["u2", "u3"], "r1": ["u2"]}) == 3
    events = [event for request in ingest.requests for event in request.events]
    assert {request.device_id for request in ingest.requests} == {"demo-import"}
    assert [(event.type, dict(event.attributes)) for event in events] == [
        ("follow.created", {"follower": "u1", "author": "u2"}),
        ("follow.created", {"follower": "u1", "author": "u3"}),
        ("follow.created", {"follower": "r1", "author": "u2"}),
    ]
