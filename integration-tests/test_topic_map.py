"""Another map of topics than the shipped one: services make their topics by it, and rows lie where it says."""

from importlib import resources
from pathlib import Path

from enrichment_stack import until
from penstock.client import Plaintext, Publisher
from penstock.embedded.broker import Kafka
from penstock.embedded.services import start_enrichment, start_ingestion
from penstock.embedded.supervisor import Supervisor
from penstock.events.v1.event_pb2 import Event
from penstock.tables.v1.row_change_pb2 import RowChange
from penstock.topics import murmur2_partition
from penstock.topics.content import content

# No database, whose topics would be somebody else's.
PIPELINE = """
version: 1
event_types:
  post.created: {about: A post., required: [author, post_id], optional: [text], key: author, upserts: {table: posts}}
tables:
  posts: {source: events, key: [author, post_id], columns: [text], partitioned_by: author}
"""
AUTHORS = ["ann", "bob", "cem", "dee", "eve"]
PARTITIONS = 3


def test_services_follow_the_map_that_they_are_given(kafka: Kafka, topic_prefix: str, tmp_path: Path) -> None:
    shipped = resources.files("penstock.topics").joinpath("topics.yaml").read_text(encoding="utf-8")
    topics, pipeline = tmp_path / "topics.yaml", tmp_path / "pipeline.yaml"
    topics.write_text(shipped.replace("partitions: 8", f"partitions: {PARTITIONS}"), encoding="utf-8")
    pipeline.write_text(PIPELINE)
    client, rows = {"bootstrap.servers": kafka.bootstrap}, f"{topic_prefix}tables.posts.v1"
    environment = {
        "PENSTOCK_TOPIC_PREFIX": topic_prefix,
        "PENSTOCK_TOPIC_MAP": str(topics),
        "PENSTOCK_PIPELINE": str(pipeline),
    }
    with Supervisor(tmp_path / "stack") as supervisor:
        ingestion = start_ingestion(supervisor, kafka.bootstrap, environment=environment)
        start_enrichment(supervisor, kafka.bootstrap, environment=environment)
        with Publisher(ingestion.address, "d", security=Plaintext()) as publisher:
            for author in AUTHORS:
                publisher.publish("post.created", {"author": author, "post_id": "p1"}).result(timeout_s=30)
        until(lambda: len(list(content(client, rows))) == len(AUTHORS))
    found = list(content(client, rows))
    assert {message.key(): message.partition() for message in found} == {
        f"{author}/p1".encode(): murmur2_partition(author.encode(), PARTITIONS) for author in AUTHORS
    }
    events = [Event.FromString(one.value() or b"") for one in content(client, f"{topic_prefix}events.enriched.v1")]
    bounds = {event.key: event.clock.error_bound_us for event in events if event.clock.HasField("error_bound_us")}
    changes = [RowChange.FromString(message.value() or b"") for message in found]
    assert bounds, "the first request has no bound, but the reply to it bounds those that follow"
    assert bounds == {
        change.key.removesuffix("/p1"): change.error_bound_us for change in changes if change.HasField("error_bound_us")
    }
