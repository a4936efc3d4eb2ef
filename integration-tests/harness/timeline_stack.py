"""The join and the timeline service as processes on topics of their own, and what is asked of them from outside.

Timelines are short here, and authors soon have many followers: after a few dozen changes, inboxes have been trimmed and
refilled, and outboxes used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Consumer, TopicPartition
from enrichment_stack import PATIENCE_S, until
from penstock.client import Plaintext, Timelines
from penstock.client.timeline_state import TimelinePartition, summed_hash
from penstock.embedded.jobs import Audited, Jobs, run_audit, start_jobs
from penstock.embedded.services import Service, start_timeline, timeline_addresses
from penstock.embedded.supervisor import Supervisor
from penstock.events.v1.event_pb2 import ConsistencyToken, Position
from penstock.timeline.v1.delivery_pb2 import Delivery, RefillRequest
from penstock.topics.content import content

TABLES = ("tables.posts.v1", "tables.follows.v1")
SHARDS = TIMELINE_PARTITIONS = 8
USERS_AT_A_TIME = 50
NOTHING: Mapping[str, str] = {}
# Spark starts in three quarters of the time: it does not live long enough here to be worth optimising.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_EVENTS = """
event_types:
  post.created: {about: A post., required: [author, post_id], optional: [text], key: author, upserts: {table: posts}}
  post.deleted: {about: A post no more., required: [author, post_id], key: author, deletes: {table: posts}}
"""
_FOLLOW_EVENTS = """
  follow.created: {about: A follow., required: [follower, author], key: author, upserts: {table: follows}}
  follow.deleted: {about: A follow no more., required: [follower, author], key: author, deletes: {table: follows}}
"""


def pipeline(*, capacity: int, slack: int, merge_at_read_above: int, follows: str = "events") -> str:
    """A pipeline.yaml. `follows`: the source of that table, if not events."""
    return f"""
version: 1
{_EVENTS}{_FOLLOW_EVENTS if follows == "events" else ""}
tables:
  posts: {{source: events, key: [author, post_id], columns: [text], partitioned_by: author}}
  follows: {{source: {follows}, key: [follower, author], columns: [], partitioned_by: author}}
timeline:
  posts: {{table: posts, author: author}}
  follows: {{table: follows, follower: follower, author: author}}
  capacity: {capacity}
  slack: {slack}
  merge_at_read_above: {merge_at_read_above}
"""


class Shown(NamedTuple):
    """A post as a reader is shown it. They sort as in a timeline, whose first is the greatest."""

    time_us: int
    id: str
    author: str
    text: str


@dataclass(frozen=True)
class TimelineStack:
    """`environment` is that of every process: the prefix, the pipeline, perhaps another map of topics."""

    bootstrap: str
    prefix: str
    supervisor: Supervisor
    environment: Mapping[str, str]

    def start_join(self, name: str = "jobs", settings: Mapping[str, str] = NOTHING) -> Jobs:
        return start_jobs(self.supervisor, self.bootstrap, name=name, environment={**self.environment, **settings})

    def start_service(
        self, name: str = "timeline", *, replicas: int = 1, settings: Mapping[str, str] = NOTHING
    ) -> list[Service]:
        """Keeps no snapshots, unless the settings say where."""
        environment = {**self.environment, **settings}
        peers = timeline_addresses(replicas)

        def start(replica: int) -> Service:
            return start_timeline(
                self.supervisor,
                self.bootstrap,
                name=f"{name}-{replica}",
                replica=replica,
                peers=peers,
                environment=environment,
            )

        with ThreadPoolExecutor(replicas) as threads:
            return list(threads.map(start, range(replicas)))

    def audit(self, address: str) -> Audited:
        return run_audit(self.bootstrap, address, environment=self.environment)

    def tables_token(self) -> ConsistencyToken:
        """Of all that the tables' topics hold now."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "penstock-tests"})
        try:
            ends = {
                (topic, number): consumer.get_watermark_offsets(TopicPartition(self.prefix + topic, number), 30)[1]
                for topic in TABLES
                for number in consumer.list_topics(self.prefix + topic, 30).topics[self.prefix + topic].partitions
            }
        finally:
            consumer.close()
        return ConsistencyToken(
            positions=[
                Position(topic=topic, partition=number, offset=end - 1) for (topic, number), end in ends.items() if end
            ]
        )

    def deliveries(self) -> Iterator[Delivery]:
        return map(Delivery.FromString, self._values("timeline.deliveries.v1"))

    def refill_requests(self) -> Iterator[RefillRequest]:
        return map(RefillRequest.FromString, self._values("timeline.refills.v1"))

    def _values(self, topic: str) -> Iterator[bytes]:
        kafka = {"bootstrap.servers": self.bootstrap}
        return (message.value() or b"" for message in content(kafka, self.prefix + topic))


@contextmanager
def timeline_stack(
    bootstrap: str, prefix: str, pipeline_text: str, folder: Path, environment: Mapping[str, str] = NOTHING
) -> Iterator[TimelineStack]:
    """Nothing runs yet."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pipeline.yaml"
    path.write_text(pipeline_text)
    settings = {
        "PENSTOCK_TOPIC_PREFIX": prefix,
        "PENSTOCK_PIPELINE": str(path),
        "JAVA_TOOL_OPTIONS": QUICK_JAVA,
        **environment,
    }
    with Supervisor(folder / "stack") as supervisor:
        yield TimelineStack(bootstrap, prefix, supervisor, settings)


def asking(service: Service) -> Timelines:
    return Timelines(service.address, security=Plaintext(), timeout_s=PATIENCE_S)


def served(
    service: Service, users: Iterable[str], limit: int, token: ConsistencyToken | None
) -> dict[str, list[Shown]]:
    """Whole timelines, of those who have one that is not empty, as of the token or later."""
    names = list(users)
    shown: dict[str, list[Shown]] = {}
    with asking(service) as timelines:
        for first in range(0, len(names), USERS_AT_A_TIME):
            some = names[first : first + USERS_AT_A_TIME]
            for user, page in zip(some, timelines.get_many(some, consistency=token), strict=True):
                assert len(page.posts) <= limit
                shown[user] = [
                    Shown(post.time_us, post.id, post.author, post.attributes.get("text", "")) for post in page.posts
                ]
    return {user: posts for user, posts in shown.items() if posts}


def settle(services: Sequence[Service]) -> None:
    """Waits until all deliveries are applied and no inbox waits for posts to come again."""

    def unsettled() -> list[str]:
        found = []
        for service in services:
            with asking(service) as timelines:
                held = timelines.describe().partitions
            found += [
                f"{one.number}: {one.lag_records} records to apply, {one.refilling} inboxes to refill"
                for one in held
                if one.lag_records or one.refilling
            ]
        return found

    until(lambda: not unsettled(), unsettled)


def content_hash(services: Sequence[Service]) -> bytes:
    """Of all timelines, held by however many replicas."""
    partitions: list[TimelinePartition] = []
    for service in services:
        with asking(service) as timelines:
            partitions += timelines.describe(with_hash=True).partitions
    assert len({held.number for held in partitions}) == len(partitions)
    total = summed_hash(partitions)
    assert total is not None
    return total
