"""Deliveries made by hand, as the join would make them, and partitions that hold them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.request import urlopen

import grpc
import numpy as np
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from penstock.delivery.numbers import packed, partition_of, post_key, post_number, user_number
from penstock.embedded.broker import Kafka
from penstock.embedded.services import Service, start_timeline
from penstock.embedded.supervisor import Supervisor
from penstock.events.v1.event_pb2 import Position, RowVersion
from penstock.pipeline import example
from penstock.pipeline import load as load_pipeline
from penstock.timeline.v1.delivery_pb2 import (
    AuthorChanges,
    Delivery,
    JoinProgress,
    Post,
    Refilled,
    Spread,
    Withdrawal,
)
from penstock.timeline.v1.timeline_pb2_grpc import TimelineServiceStub
from penstock.timelines.held import Held
from penstock.timelines.snapshot import Origin
from penstock.timelines.store import IMAGE_FORMAT, Partition, Shape
from penstock.topics import load as load_topics
from penstock.topics.kafka import ensure
from penstock.topics.partitioning import murmur2_partition
from prometheus_client.parser import text_string_to_metric_families

DELIVERIES, REFILLS, PROGRESS = "timeline.deliveries.v1", "timeline.refills.v1", "timeline.progress.v1"
POSTS, FOLLOWS = "tables.posts.v1", "tables.follows.v1"
Written = list[tuple[int, bytes]]  # timeline partition, record


class Join:
    """A join of posts and follows: each change is a batch of its author's shard. Knows what timelines must be."""

    def __init__(self, partitions: int = 2, shards: int = 2, *, capacity: int = 100, epoch: int = 1) -> None:
        self.partitions = partitions
        self.shards = shards
        self.capacity = capacity
        self.epoch = epoch
        self.posts: dict[str, dict[str, Post]] = defaultdict(dict)  # by author, by id
        self.followers: dict[str, set[str]] = defaultdict(set)  # by author
        self._batches: dict[int, int] = defaultdict(int)

    def timeline(self, user: str) -> list[Post]:
        followed = [author for author, followers in self.followers.items() if user in followers]
        posts = [post for author in followed for post in self.posts[author].values()]
        newest_first = sorted(posts, key=lambda post: (post.time_us, post.id, post.author), reverse=True)
        return newest_first[: self.capacity]

    def follow(self, reader: str, author: str) -> Written:
        self.followers[author].add(reader)
        posts = sorted(self.posts[author].values(), key=lambda post: post.time_us)
        changes = AuthorChanges(author=author, followed=numbers([reader]), posts=posts)
        if posts:
            changes.spread.append(Spread(posts=range(len(posts)), readers=numbers([reader])))
        return self._batch(author, {partition_of(user_number(reader), self.partitions): changes})

    def unfollow(self, reader: str, author: str) -> Written:
        self.followers[author].discard(reader)
        changes = AuthorChanges(author=author, unfollowed=numbers([reader]))
        return self._batch(author, {partition_of(user_number(reader), self.partitions): changes})

    def post(self, author: str, post_id: str, time_us: int, **attributes: str) -> Written:
        """New, or edited."""
        before = self.posts[author].get(post_id)
        post = self.posts[author][post_id] = made(author, post_id, time_us, **attributes)

        def changes(readers: bytes) -> AuthorChanges:
            change = AuthorChanges(author=author, posts=[post], spread=[Spread(posts=[0], readers=readers)])
            if before is not None:
                change.withdrawn.append(Withdrawal(posts=number_of(before), readers=readers))
            return change

        return self._batch(author, self._by_partition(author, changes))

    def delete(self, author: str, post_id: str) -> Written:
        gone = number_of(self.posts[author].pop(post_id))

        def changes(readers: bytes) -> AuthorChanges:
            return AuthorChanges(author=author, withdrawn=[Withdrawal(posts=gone, readers=readers)])

        return self._batch(author, self._by_partition(author, changes))

    def refilled(self, author: str, partition: int, *refilled: Refilled) -> Written:
        return self._batch(author, {partition: AuthorChanges(author=author)}, refilled)

    def backfill(self, author: str, reader: str, *refilled: Refilled) -> Written:
        """The answer to a refill."""
        posts = sorted(self.posts[author].values(), key=lambda post: post.time_us)
        changes = AuthorChanges(
            author=author, posts=posts, spread=[Spread(posts=range(len(posts)), readers=numbers([reader]))]
        )
        return self._batch(author, {partition_of(user_number(reader), self.partitions): changes}, refilled)

    def _by_partition(self, author: str, changes: Callable[[bytes], AuthorChanges]) -> dict[int, AuthorChanges]:
        readers = defaultdict(list)
        for reader in self.followers[author]:
            readers[partition_of(user_number(reader), self.partitions)].append(reader)
        return {partition: changes(numbers(names)) for partition, names in readers.items()}

    def _batch(self, author: str, changes: dict[int, AuthorChanges], refilled: Iterable[Refilled] = ()) -> Written:
        shard = murmur2_partition(author.encode(), self.shards)
        self._batches[shard] += 1
        return [
            (
                partition,
                Delivery(
                    timeline_partition=partition,
                    shard=shard,
                    epoch=self.epoch,
                    batch=self._batches[shard],
                    authors=[change],
                    refilled=refilled,
                ).SerializeToString(),
            )
            for partition, change in sorted(changes.items())
        ]


def made(author: str, post_id: str, time_us: int, **attributes: str) -> Post:
    position = f"{author}/{post_id}/{time_us}".encode()
    return Post(
        id=post_id,
        author=author,
        time_us=time_us,
        attributes=attributes,
        version=RowVersion(valid_from_us=time_us, position=position),
        number=post_number(post_key(author, post_id), time_us, position),
    )


def numbers(users: Iterable[str]) -> bytes:
    return packed(np.array(sorted(user_number(user) for user in users), np.uint64))


def number_of(post: Post) -> bytes:
    return packed(np.array([post.number], np.uint64))


class World:
    """A join and the partitions of one replica that has applied all of it."""

    def __init__(self, *, capacity: int = 100, slack: int = 20, partitions: int = 2) -> None:
        self.join = Join(partitions, capacity=capacity)
        self.shape = Shape(capacity, slack, partitions, self.join.shards)
        self.held = {
            number: Held(Partition(number, self.shape), self.origin(number), 0) for number in range(partitions)
        }

    def origin(self, partition: int) -> Origin:
        shape = self.shape
        return Origin(
            topic="timeline.deliveries.v1",
            topic_id="id",
            partition=partition,
            partitions=shape.partitions,
            shards=shape.shards,
            capacity=shape.capacity,
            slack=shape.slack,
            posts="p",
            follows="f",
            image_format=IMAGE_FORMAT,
        )

    def apply(self, written: Written) -> None:
        for partition, record in written:
            held = self.held[partition]
            held.partition.apply(record, held.position)
            held.position += 1

    def partition_of(self, user: str) -> int:
        return partition_of(user_number(user), self.shape.partitions)

    def held_of(self, user: str) -> Held:
        return self.held[self.partition_of(user)]

    def user_in(self, partition: int, name: str = "user") -> str:
        """A name that belongs to the partition."""
        return next(user for user in (f"{name}-{n}" for n in range(10_000)) if self.partition_of(user) == partition)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture(scope="session")
def make_world() -> Callable[..., World]:
    return World


@pytest.fixture(scope="session")
def make_join() -> Callable[..., Join]:
    return Join


class Stack:
    """The service as processes on a real Kafka, and a join whose deliveries are written by hand."""

    def __init__(self, bootstrap: str, prefix: str, folder: Path, *, capacity: int = 100, slack: int = 20) -> None:
        self.bootstrap = bootstrap
        self.kafka = {"bootstrap.servers": bootstrap}
        self.prefix = prefix
        self.folder = folder
        self.topics = load_topics().for_tables(load_pipeline().tables).prefixed(prefix)
        self.join = Join(self.topics[DELIVERIES].partitions, self.topics[REFILLS].partitions, capacity=capacity)
        self.supervisor = Supervisor(folder / "run")
        self._pipeline = folder / "pipeline.yaml"
        text = example("social").replace("capacity: 800", f"capacity: {capacity}")
        self._pipeline.write_text(text.replace("slack: 200", f"slack: {slack}"))
        self._producer = Producer(self.kafka)
        self._channels: dict[str, grpc.Channel] = {}
        names = [DELIVERIES, REFILLS, PROGRESS, POSTS, FOLLOWS]
        ensure(self.kafka, self.topics, names=names)

    def write(self, *written: Written) -> None:
        """In order. Returns when Kafka has them."""
        for partition, record in (one for some in written for one in some):
            self.produce(DELIVERIES, record, str(partition).encode(), partition)
        assert self._producer.flush(60) == 0

    def produce(self, topic: str, value: bytes, key: bytes, partition: int) -> None:
        self._producer.produce(self.topics.kafka_name(topic), value, key, partition)

    def report(self, reflects: Mapping[tuple[str, int], int], delivered: Mapping[int, int]) -> None:
        """As the join does after each batch."""
        progress = JoinProgress(
            query="timelines",
            reflects=[Position(topic=topic, partition=n, offset=offset) for (topic, n), offset in reflects.items()],
            delivered=[Position(topic=DELIVERIES, partition=n, offset=offset) for n, offset in delivered.items()],
        )
        self.produce(PROGRESS, progress.SerializeToString(), b"timelines", 0)
        assert self._producer.flush(60) == 0

    def start(self, name: str = "timeline", *, replica: int = 0, peers: Sequence[str] = (), **settings: str) -> Service:
        environment = {
            "PENSTOCK_TOPIC_PREFIX": self.prefix,
            "PENSTOCK_PIPELINE": str(self._pipeline),
            "PENSTOCK_TIMELINE_STATE_FOLDER": str(self.state(name)),
            **{f"PENSTOCK_TIMELINE_{setting}": value for setting, value in settings.items()},
        }
        return start_timeline(
            self.supervisor, self.bootstrap, name=name, replica=replica, peers=peers, environment=environment
        )

    def state(self, name: str = "timeline") -> Path:
        return self.folder / f"state-{name}"

    def stub(self, service: Service) -> TimelineServiceStub:
        if service.address not in self._channels:
            self._channels[service.address] = grpc.insecure_channel(service.address)
        return TimelineServiceStub(self._channels[service.address])

    def log(self, name: str = "timeline") -> str:
        return self.supervisor.log(name).read_text()

    def metric(self, service: Service, name: str, **labels: str) -> float:
        """0 where there is none."""
        with urlopen(service.metrics, timeout=30) as answer:
            families = text_string_to_metric_families(answer.read().decode())
        samples = [sample for family in families for sample in family.samples if sample.name == name]
        return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())

    def applied(self, user: str) -> list[Position]:
        """What a timeline must reflect to reflect all that was written so far to its partition."""
        consumer = Consumer({**self.kafka, "group.id": "ends"})
        number = partition_of(user_number(user), self.join.partitions)
        place = TopicPartition(self.topics.kafka_name(DELIVERIES), number)
        end = consumer.get_watermark_offsets(place, 30)[1]
        consumer.close()
        return [Position(topic=DELIVERIES, partition=number, offset=end - 1)] if end else []

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()
        self.supervisor.stop()


@pytest.fixture
def stack(kafka: Kafka, topic_prefix: str, tmp_path: Path) -> Iterator[Stack]:
    with closing(Stack(kafka.bootstrap, topic_prefix, tmp_path)) as stack:
        yield stack


@pytest.fixture
def make_stack(kafka: Kafka, topic_prefix: str, tmp_path: Path) -> Iterator[Callable[..., Stack]]:
    with ExitStack() as stacks:
        yield lambda **more: stacks.enter_context(closing(Stack(kafka.bootstrap, topic_prefix, tmp_path, **more)))


@pytest.fixture
def stack_on(topic_prefix: str, tmp_path: Path) -> Iterator[Callable[[str], Stack]]:
    """On a Kafka of one's own."""
    with ExitStack() as stacks:
        yield lambda bootstrap: stacks.enter_context(closing(Stack(bootstrap, topic_prefix, tmp_path)))
