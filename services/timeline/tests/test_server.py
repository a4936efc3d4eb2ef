"""The service as a process on a real Kafka: reads, subscriptions, tokens, limits, its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import grpc
import pytest
from confluent_kafka import Consumer, TopicPartition
from penstock.delivery.numbers import partition_of, user_number
from penstock.events.v1.event_pb2 import ConsistencyToken, Position
from penstock.timeline.v1 import timeline_pb2
from penstock.timeline.v1.timeline_pb2 import (
    Cursor,
    DescribeRequest,
    GetTimelineRequest,
    GetTimelinesRequest,
    SubscribeRequest,
    SubscribeResponse,
)
from penstock.timeline.v1.timeline_pb2_grpc import TimelineServiceStub
from penstock.topics.kafka import ensure

Stack = Any  # of conftest.py
PATIENCE_S = 60
DELIVERIES, POSTS, RAW = "timeline.deliveries.v1", "tables.posts.v1", "events.raw.v1"


def token(*positions: Position) -> ConsistencyToken:
    return ConsistencyToken(positions=positions)


def seen_all(stack: Stack, user: str) -> GetTimelineRequest:
    return GetTimelineRequest(user=user, consistency=token(*stack.applied(user)))


def until_caught_up(stream: Iterable[SubscribeResponse], held: dict[int, Any]) -> SubscribeResponse:
    """Takes everything up to the first heartbeat, which it returns."""
    for message in stream:
        follow(message, held)
        if message.HasField("heartbeat"):
            return message
    raise AssertionError("it ended")


def follow(message: SubscribeResponse, held: dict[int, Any]) -> None:
    """As a client does: every message must be a change, and its cursor must say what is held after it."""
    if message.HasField("added"):
        assert message.added.number not in held
        held[message.added.number] = message.added
    elif message.HasField("removed"):
        del held[message.removed.number]
    assert set(message.cursor.held) == held.keys()


def until_holds(stream: Iterable[SubscribeResponse], held: dict[int, Any], wanted: list[Any]) -> SubscribeResponse:
    for message in stream:
        follow(message, held)
        if sorted(held) == sorted(post.number for post in wanted):
            return message
    raise AssertionError("it ended")


def test_reads_pages_batches_and_descriptions(stack: Stack) -> None:
    join = stack.join
    stack.write(join.follow("reader", "ann"), join.follow("other", "bob"), join.follow("reader", "bob"))
    for number in range(30):
        stack.write(join.post("ann" if number % 3 else "bob", f"p{number}", 1_000 + number, text=f"This is {number}"))
    service = stack.start()
    stub = stack.stub(service)
    first = stub.GetTimeline(GetTimelineRequest(user="reader", limit=12), timeout=PATIENCE_S)
    second = stub.GetTimeline(GetTimelineRequest(user="reader", limit=100, cursor=first.next), timeout=PATIENCE_S)
    assert [*first.posts, *second.posts] == join.timeline("reader")
    assert not second.HasField("next")
    back = GetTimelineRequest(user="reader", limit=3, cursor=first.next, direction=timeline_pb2.DIRECTION_NEWER)
    assert list(stub.GetTimeline(back, timeout=PATIENCE_S).posts) == join.timeline("reader")[8:11]
    users = ["reader", "nobody", "other", "reader"]
    batch = GetTimelinesRequest(requests=[GetTimelineRequest(user=user, limit=5) for user in users])
    pages = stub.GetTimelines(batch, timeout=PATIENCE_S).responses
    assert [list(page.posts) for page in pages] == [join.timeline(user)[:5] for user in users]
    plain, hashed = (stub.Describe(DescribeRequest(with_hash=given), timeout=PATIENCE_S) for given in (False, True))
    assert (plain.partitions_total, plain.capacity, len(plain.partitions)) == (8, 100, 8)
    assert sum(one.entries for one in plain.partitions) == 40
    assert sum(one.users for one in plain.partitions) == 2
    assert [one.lag_records for one in plain.partitions] == [0] * 8
    assert not any(one.content_hash for one in plain.partitions)
    mine = partition_of(user_number("reader"), 8)
    assert int.from_bytes(hashed.partitions[mine].content_hash, "little")
    assert stack.metric(service, "penstock_timeline_entries_total", change="added") == 40
    while stack.metric(service, "grpc_server_handled_total", grpc_method="GetTimeline", grpc_code="OK") < 3:
        pass  # calls are counted in a pool, which is emptied now and then
    assert stack.supervisor.end("timeline") == 0


def test_what_makes_no_sense_is_said(stack: Stack) -> None:
    stub = stack.stub(stack.start())
    for request, said in (
        (GetTimelineRequest(), "user is empty"),
        (GetTimelineRequest(user="u", limit=2_000), "limit is 2000: at most 1000"),
        (GetTimelineRequest(user="u", cursor=Cursor(time_us=-5)), "time_us is -5: it cannot be negative"),
        (GetTimelineRequest(user="u", consistency=token(Position(topic="x"))), "names 'x'"),
    ):
        with pytest.raises(grpc.RpcError, match=said) as caught:
            stub.GetTimeline(request, timeout=PATIENCE_S)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        batch = GetTimelinesRequest(requests=[GetTimelineRequest(user="u"), request])
        with pytest.raises(grpc.RpcError, match=said) as caught:
            stub.GetTimelines(batch, timeout=PATIENCE_S)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    too_many = GetTimelinesRequest(requests=[GetTimelineRequest(user="u")] * 101)
    with pytest.raises(grpc.RpcError, match="101 requests: at most 100"):
        stub.GetTimelines(too_many, timeout=PATIENCE_S)
    for subscribe, said in (
        (SubscribeRequest(), "user is empty"),
        (SubscribeRequest(user="u", cursor=Cursor(held=range(2_000))), "holds 2000 posts"),
        (SubscribeRequest(user="u", cursor=Cursor(seen=[Position(topic="x")])), "cursors speak of"),
    ):
        with pytest.raises(grpc.RpcError, match=said) as caught:
            next(stub.Subscribe(subscribe, timeout=PATIENCE_S))
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_tokens_are_waited_for_through_the_whole_pipeline(stack: Stack) -> None:
    join, reader = stack.join, "reader"
    stack.write(join.follow(reader, "ann"))
    ensure(stack.kafka, stack.topics, names=[RAW])
    stub = stack.stub(stack.start())
    raw = GetTimelineRequest(user=reader, consistency=token(Position(topic=RAW, partition=2, offset=5)))
    with pytest.raises(grpc.RpcError, match=r"does not reflect the token after .* set allow_stale") as caught:
        stub.GetTimeline(raw, timeout=1)
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    raw.allow_stale = True
    assert stub.GetTimeline(raw, timeout=1).stale
    raw.allow_stale = False

    answers: list[Any] = []
    waiting = threading.Thread(target=lambda: answers.append(stub.GetTimeline(raw, timeout=PATIENCE_S)))
    waiting.start()
    stack.write(join.post("ann", "p", 1_000))
    stack.produce(POSTS, b"a row", b"p", 3)
    (delivered,) = stack.applied(reader)
    stack.report({(POSTS, 3): 0}, {delivered.partition: delivered.offset})
    assert waiting.is_alive(), "enrichment has not committed it"
    consumer = Consumer({**stack.kafka, "group.id": stack.prefix + "penstock-enrichment"})
    places = [TopicPartition(stack.topics.kafka_name(RAW), 2, 6)]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()
    waiting.join(PATIENCE_S)
    assert [post.id for post in answers[0].posts] == ["p"]
    assert not answers[0].stale

    row = GetTimelineRequest(user=reader, consistency=token(Position(topic=POSTS, partition=3, offset=1)))
    with pytest.raises(grpc.RpcError, match="does not reflect"):
        stub.GetTimeline(row, timeout=1)
    stack.report({(POSTS, 3): 1}, {delivered.partition: delivered.offset})
    assert not stub.GetTimeline(row, timeout=PATIENCE_S).stale


def test_a_subscription_tells_what_changes_and_ends_when_the_server_stops(stack: Stack) -> None:
    join = stack.join
    stack.write(join.follow("reader", "ann"))
    for number in range(100):
        stack.write(join.post("ann", f"p{number}", 1_000 + number))
    service = stack.start(HEARTBEAT_S="1")
    stub = stack.stub(service)
    page = stub.GetTimeline(GetTimelineRequest(user="reader", limit=3), timeout=PATIENCE_S)
    whole, window = dict[int, Any](), {post.number: post for post in page.posts}
    all_of_it = stub.Subscribe(SubscribeRequest(user="reader"), timeout=PATIENCE_S)
    newest = stub.Subscribe(SubscribeRequest(user="reader", cursor=page.live), timeout=PATIENCE_S)
    until_caught_up(all_of_it, whole)
    assert list(reversed(whole.values())) == join.timeline("reader")
    until_caught_up(newest, window)
    assert len(window) == 3
    stack.write(join.post("ann", "p200", 2_000), join.delete("ann", "p98"), join.delete("ann", "p5"))
    until_holds(all_of_it, whole, join.timeline("reader"))
    until_holds(newest, window, join.timeline("reader")[:3])
    until_caught_up(newest, window)  # a heartbeat, because it is quiet
    assert stack.metric(service, "penstock_timeline_subscribers") == 2
    stopped = threading.Thread(target=stack.supervisor.end, args=("timeline",))
    stopped.start()
    with pytest.raises(grpc.RpcError, match="this replica stops; subscribe again") as caught:
        until_holds(newest, window, [])
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    stopped.join()


def test_there_is_a_limit_to_subscribers(stack: Stack) -> None:
    stub = stack.stub(stack.start(SUBSCRIBERS_MAX="1"))
    first = stub.Subscribe(SubscribeRequest(user="one"), timeout=PATIENCE_S)
    until_caught_up(first, {})
    with pytest.raises(grpc.RpcError, match="try again later") as caught:
        next(stub.Subscribe(SubscribeRequest(user="two"), timeout=PATIENCE_S))
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    advice: list[Any] = list(caught.value.trailing_metadata())
    assert ("grpc-retry-pushback-ms", "5000") in advice
    first.cancel()
    for _ in count():  # its place is free as soon as the server has noticed
        try:
            until_caught_up(stub.Subscribe(SubscribeRequest(user="two"), timeout=PATIENCE_S), {})
        except grpc.RpcError as error:
            assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED  # noqa: PT017 -- which of them it is
        else:
            break


def test_a_slow_reader_is_cut_off_and_resumes_and_others_do_not_notice(make_stack: Callable[..., Stack]) -> None:
    stack = make_stack(capacity=200)
    join = stack.join
    stack.write(join.follow("reader", "ann"))
    for number in range(200):
        stack.write(join.post("ann", f"p{number}", 1_000 + number, text="x" * 50_000))
    service = stack.start(SUBSCRIBER_QUEUE="5")
    stub = stack.stub(service)
    window = [("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 65_535)]
    narrow = grpc.insecure_channel(service.address, window)
    slow = TimelineServiceStub(narrow).Subscribe(SubscribeRequest(user="reader"), timeout=PATIENCE_S)
    quick, held = stub.Subscribe(SubscribeRequest(user="reader"), timeout=PATIENCE_S), dict[int, Any]()
    until_caught_up(quick, held)
    for number in range(200, 230):
        stack.write(join.post("ann", f"p{number}", 1_000 + number, text="x" * 50_000))
        until_holds(quick, held, join.timeline("reader"))
        if stack.metric(service, "penstock_timeline_slow_readers_total"):
            break
    assert stack.metric(service, "penstock_timeline_slow_readers_total") == 1
    behind, taken = dict[int, Any](), list[SubscribeResponse]()
    with pytest.raises(grpc.RpcError, match="subscribe again with the cursor of the last message") as caught:
        taken.extend(slow)
    for message in taken:
        follow(message, behind)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    request = SubscribeRequest(user="reader", cursor=taken[-1].cursor)
    until_caught_up(stub.Subscribe(request, timeout=PATIENCE_S), behind)
    assert behind == held
    narrow.close()


def test_a_record_that_cannot_be_applied_ends_the_process(stack: Stack) -> None:
    stack.write(stack.join.follow("reader", "ann"))
    stack.start()
    stack.write([(0, b"\xff\xff")])
    with pytest.raises(Exception, match="timeline"):
        stack.supervisor.wait(PATIENCE_S)
    log = stack.log()
    assert "deliveries cannot be applied" in log
    assert "is no Delivery" in log
