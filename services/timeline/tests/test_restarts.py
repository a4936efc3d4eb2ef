"""Processes that die, files that are damaged, logs that were cut: what a replica makes of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from penstock.delivery.numbers import partition_of, user_number
from penstock.embedded.errors import ChildDiedError, EmbeddedError
from penstock.embedded.pytest_plugin import OwnKafka
from penstock.events.v1.event_pb2 import ConsistencyToken, Position
from penstock.timeline.v1.delivery_pb2 import Post, Refilled, RefillRequest
from penstock.timeline.v1.timeline_pb2 import Cursor, DescribeRequest, GetTimelineRequest, SubscribeRequest
from penstock.topics.content import content

Stack = Any  # of conftest.py
PATIENCE_S = 60
QUICKLY = {"SNAPSHOT_AGE_S": "1"}
READERS = [f"reader-{number}" for number in range(20)]


def posts_of(stack: Stack, service: Any, user: str) -> list[Post]:
    """When everything written is applied."""
    token = ConsistencyToken(positions=stack.applied(user))
    request = GetTimelineRequest(user=user, limit=1_000, consistency=token)
    return list(stack.stub(service).GetTimeline(request, timeout=PATIENCE_S).posts)


def assert_exact(stack: Stack, service: Any) -> None:
    for reader in READERS:
        assert posts_of(stack, service, reader) == stack.join.timeline(reader)


def content_hash(stack: Stack, *services: Any) -> int:
    """Of all partitions, wherever they are."""
    described = [stack.stub(one).Describe(DescribeRequest(with_hash=True), timeout=PATIENCE_S) for one in services]
    partitions = [partition for one in described for partition in one.partitions]
    assert sorted(one.timeline_partition for one in partitions) == list(range(described[0].partitions_total))
    return sum(int.from_bytes(one.content_hash, "little") for one in partitions) % (1 << 128)


def scene(stack: Stack) -> None:
    for reader in READERS:
        stack.write(stack.join.follow(reader, "ann"), stack.join.follow(reader, "bob"))
    for number in range(60):
        stack.write(stack.join.post("ann" if number % 2 else "bob", f"p{number}", 1_000 + number))
    for number in range(0, 60, 5):
        stack.write(stack.join.delete("ann" if number % 2 else "bob", f"p{number}"))


def snapshots(stack: Stack) -> list[Path]:
    return sorted(stack.state().glob("*.snapshot"))


def test_a_subscription_survives_kill_9_and_a_restart(stack: Stack) -> None:
    join, reader = stack.join, READERS[0]
    scene(stack)
    service = stack.start(**QUICKLY)
    held: dict[int, Post] = {}
    cursor = Cursor()
    for round_ in range(3):
        stream = stack.stub(service).Subscribe(SubscribeRequest(user=reader, cursor=cursor), timeout=PATIENCE_S)
        stack.write(join.post("ann", f"new-{round_}", 5_000 + round_), join.delete("ann", f"p{10 * round_ + 11}"))
        for message in stream:
            if message.HasField("added"):
                assert message.added.number not in held
                held[message.added.number] = message.added
            elif message.HasField("removed"):
                del held[message.removed.number]
            cursor = message.cursor
            assert set(cursor.held) == held.keys()
            if sorted(held) == sorted(post.number for post in join.timeline(reader)):
                break
        stack.supervisor.kill("timeline")
        stack.write(join.post("bob", f"missed-{round_}", 6_000 + round_))
        stack.supervisor.restart("timeline")
    assert_exact(stack, service)


def test_a_stop_saves_and_the_next_start_reads_nothing_again(stack: Stack) -> None:
    scene(stack)
    service = stack.start()
    assert stack.metric(service, "penstock_timeline_load_records", state="total") > 60
    before = content_hash(stack, service)
    assert stack.supervisor.end("timeline") == 0
    assert len(snapshots(stack)) > 0
    stack.supervisor.restart("timeline")
    assert stack.metric(service, "penstock_timeline_load_records", state="total") == 0
    assert_exact(stack, service)
    assert content_hash(stack, service) == before


def test_a_damaged_snapshot_is_refused_and_the_one_before_or_the_log_is_read(stack: Stack) -> None:
    scene(stack)
    service = stack.start()
    before = content_hash(stack, service)
    stack.supervisor.end("timeline")
    stack.write(*(stack.join.post("ann", f"later-{number}", 3_000 + number) for number in range(3)))
    stack.supervisor.restart("timeline")
    assert content_hash(stack, service) != before
    after = content_hash(stack, service)
    stack.supervisor.end("timeline")
    damaged = snapshots(stack)
    for path in damaged:
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2] + b"X" + whole[len(whole) // 2 + 1 :])
    stack.supervisor.restart("timeline")
    assert stack.metric(service, "penstock_timeline_snapshots_total", outcome="refused") == len(damaged)
    replayed = stack.metric(service, "penstock_timeline_load_records", state="total")
    assert 0 < replayed <= 3 * len(damaged), "from the ones before"
    assert content_hash(stack, service) == after
    assert "is damaged or cut off" in stack.log()
    stack.supervisor.kill("timeline")
    for path in stack.state().iterdir():
        path.write_bytes(b"nonsense")
    stack.supervisor.restart("timeline")
    assert stack.metric(service, "penstock_timeline_load_records", state="total") > 60
    assert content_hash(stack, service) == after


def test_the_hash_is_the_same_from_snapshots_from_the_log_and_with_other_replicas(stack: Stack) -> None:
    scene(stack)
    first = stack.start("first", **QUICKLY)
    wanted = content_hash(stack, first)
    stack.supervisor.kill("first")
    stack.supervisor.restart("first")
    assert content_hash(stack, first) == wanted
    peers = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]
    others = [
        stack.start(f"other-{number}", REPLICA=str(number), REPLICAS="3", PEERS=",".join(peers), STATE_FOLDER="")
        for number in range(3)
    ]
    assert content_hash(stack, *others) == wanted


def delete_before(stack: Stack, place: Position) -> None:
    """As retention does."""
    admin = AdminClient({**stack.kafka})
    (deleted,) = admin.delete_records(
        [TopicPartition(stack.topics.kafka_name(place.topic), place.partition, place.offset)]
    ).values()
    deleted.result(PATIENCE_S)


def test_a_log_whose_beginning_was_deleted(stack: Stack) -> None:
    scene(stack)
    service = stack.start()
    wanted = content_hash(stack, service)
    (place,) = stack.applied(READERS[0])
    stack.supervisor.end("timeline")
    delete_before(stack, place)
    stack.supervisor.restart("timeline")
    assert content_hash(stack, service) == wanted, "the snapshot goes on where the log is still there"
    with pytest.raises(ChildDiedError) as died:
        stack.start("without", STATE_FOLDER="")
    said = str(died.value)
    assert f"[{place.partition}] is needed from offset 0 on, but begins at offset {place.offset}" in said
    assert "new checkpoint, which is a new epoch" in said


def test_a_snapshot_from_before_what_was_deleted_is_not_enough(stack: Stack) -> None:
    scene(stack)
    stack.start()
    stack.supervisor.end("timeline")
    reader = READERS[0]
    stack.write(*(stack.join.post("ann", f"later-{number}", 3_000 + number) for number in range(3)))
    (place,) = stack.applied(reader)
    delete_before(stack, place)
    with pytest.raises(EmbeddedError, match=r"where the snapshot .* ends, but begins at offset"):
        stack.supervisor.restart("timeline")


def test_wherever_it_dies_nothing_is_lost(stack: Stack) -> None:
    """Failpoints kill the process while it applies, copies, writes and renames; the supervisor brings it back."""
    chance = random.Random(5)
    failpoints = "applied=30,image_taken=100,snapshot_partial=5,snapshot_moved=100,snapshot_written=100"
    join = stack.join
    scene(stack)
    deaths = 0
    for round_ in range(8):
        for number in range(10):
            author = chance.choice(["ann", "bob"])
            stack.write(join.post(author, f"{round_}-{number}", chance.randint(1, 9_000)))
            if join.posts[author] and chance.random() < 0.3:
                stack.write(join.delete(author, chance.choice(sorted(join.posts[author]))))
        try:
            if round_:
                stack.supervisor.restart("timeline")
            else:
                stack.start(FAILPOINTS=failpoints, **QUICKLY)
            stack.supervisor.wait(1.5)
        except ChildDiedError as died:
            assert died.exit_code == -9  # noqa: PT017 -- which deaths are meant
            deaths += 1
    assert deaths >= 2
    stack.supervisor.kill("timeline")
    survivor = stack.start("survivor", STATE_FOLDER=str(stack.state()))
    assert_exact(stack, survivor)
    reference = stack.start("reference", STATE_FOLDER="")
    assert content_hash(stack, survivor) == content_hash(stack, reference)


def test_a_gap_is_asked_for_until_it_is_filled_also_after_kill_9(make_stack: Callable[..., Stack]) -> None:
    stack = make_stack(capacity=10, slack=5)
    join, reader = stack.join, "reader"
    stack.write(join.follow(reader, "ann"))
    for number in range(30):
        stack.write(join.post("ann", f"p{number}", 1_000 + number))
    service = stack.start(REFILL_RETRY_S="1", **QUICKLY)
    stub = stack.stub(service)
    assert posts_of(stack, service, reader) == join.timeline(reader)
    assert not requests(stack)
    for number in range(25, 30):
        stack.write(join.delete("ann", f"p{number}"))
    token = ConsistencyToken(positions=stack.applied(reader))
    page = stub.GetTimeline(GetTimelineRequest(user=reader, consistency=token), timeout=PATIENCE_S)
    if not page.refilling:  # what was trimmed decides
        for number in range(20, 25):
            stack.write(join.delete("ann", f"p{number}"))
    asked = until_asked(stack, 1)
    assert (asked[0].reader, list(asked[0].authors)) == (user_number(reader), ["ann"])
    assert asked[0].timeline_partition == partition_of(user_number(reader), 8)
    assert stub.GetTimeline(GetTimelineRequest(user=reader), timeout=PATIENCE_S).refilling
    until_asked(stack, len(requests(stack)) + 1)  # nobody answers: again
    stack.supervisor.kill("timeline")
    known = len(requests(stack))
    stack.supervisor.restart("timeline")
    again = until_asked(stack, known + 1)[-1]
    assert again == asked[0], "the same gap has the same number"
    stack.write(join.backfill("ann", reader, Refilled(reader=again.reader, request=again.request)))
    assert posts_of(stack, service, reader) == join.timeline(reader)
    assert not stub.GetTimeline(GetTimelineRequest(user=reader), timeout=PATIENCE_S).refilling


def requests(stack: Stack) -> list[RefillRequest]:
    values = (message.value() for message in content(stack.kafka, stack.topics.kafka_name("timeline.refills.v1")))
    return [RefillRequest.FromString(value or b"") for value in values]


def until_asked(stack: Stack, count: int) -> list[RefillRequest]:
    while len(found := requests(stack)) < count:
        pass
    return found


def test_without_kafka_reads_go_on_and_then_deliveries(own_kafka: OwnKafka, stack_on: Callable[[str], Stack]) -> None:
    stack = stack_on(own_kafka.bootstrap)
    scene(stack)
    service = stack.start()
    stub = stack.stub(service)
    reader = READERS[0]
    page = stub.GetTimeline(GetTimelineRequest(user=reader, limit=100), timeout=PATIENCE_S)
    own_kafka.kill()
    raw = ConsistencyToken(positions=[Position(topic="events.raw.v1", partition=0, offset=0)])
    assert stub.GetTimeline(GetTimelineRequest(user=reader, limit=100), timeout=PATIENCE_S).posts == page.posts
    request = GetTimelineRequest(user=reader, consistency=raw, allow_stale=True)
    assert stub.GetTimeline(request, timeout=3).stale
    stack.supervisor.check()
    own_kafka.restart()
    stack.write(stack.join.post("ann", "after", 9_000))
    assert_exact(stack, service)
