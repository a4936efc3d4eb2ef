"""Two replicas: each has half of the partitions and passes on what is for the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pytest
from penstock.delivery.numbers import partition_of, user_number
from penstock.embedded.services import timeline_addresses
from penstock.events.v1.event_pb2 import ConsistencyToken
from penstock.timeline.v1.timeline_pb2 import (
    Cursor,
    DescribeRequest,
    GetTimelineRequest,
    GetTimelinesRequest,
    SubscribeRequest,
    SubscribeResponse,
)

Stack = Any  # of conftest.py
PATIENCE_S = 60
USERS = [f"user-{number}" for number in range(12)]


def test_any_replica_answers_for_any_user(stack: Stack) -> None:
    join = stack.join
    for user in USERS:
        stack.write(join.follow(user, "ann"))
    for number in range(5):
        stack.write(join.post("ann", f"p{number}", 1_000 + number))
    owners = {partition_of(user_number(user), 8) % 2 for user in USERS}
    assert owners == {0, 1}, "both have some"
    peers = timeline_addresses(2)
    services = [stack.start(f"replica-{number}", replica=number, peers=peers) for number in (0, 1)]
    for service in services:
        stub = stack.stub(service)
        for user in USERS:
            token = ConsistencyToken(positions=stack.applied(user))
            page = stub.GetTimeline(GetTimelineRequest(user=user, consistency=token), timeout=PATIENCE_S)
            assert list(page.posts) == join.timeline(user)
        requests = [GetTimelineRequest(user=user, limit=1 + n % 3) for n, user in enumerate(USERS)]
        batch = GetTimelinesRequest(requests=requests)
        pages = stub.GetTimelines(batch, timeout=PATIENCE_S).responses
        assert [len(page.posts) for page in pages] == [1 + n % 3 for n in range(len(USERS))]
        assert [page.applied[0].partition for page in pages] == [partition_of(user_number(user), 8) for user in USERS]
        with pytest.raises(grpc.RpcError, match="limit is 9999") as caught:
            stub.GetTimeline(GetTimelineRequest(user=USERS[0], limit=9_999), timeout=PATIENCE_S)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        held = [one.timeline_partition for one in stub.Describe(DescribeRequest(), timeout=PATIENCE_S).partitions]
        assert held == ([0, 2, 4, 6] if service is services[0] else [1, 3, 5, 7])
        other = "1" if service is services[0] else "0"
        assert stack.metric(service, "penstock_timeline_forwarded_total", replica=other, grpc_code="OK") > 0

    stranger = next(user for user in USERS if partition_of(user_number(user), 8) % 2 == 1)
    stream = stack.stub(services[0]).Subscribe(SubscribeRequest(user=stranger), timeout=PATIENCE_S)
    told = [next(stream) for _ in range(6)]
    assert [message.added.id for message in told] == ["p0", "p1", "p2", "p3", "p4", ""]
    assert told[-1].HasField("heartbeat")
    assert stack.metric(services[1], "penstock_timeline_subscribers") == 1
    stack.write(join.post("ann", "p5", 2_000))
    assert next(stream).added.id == "p5"

    stack.supervisor.kill("replica-1")
    with pytest.raises(grpc.RpcError) as caught:
        next(stream)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    with pytest.raises(grpc.RpcError, match=f"replica 1 at {peers[1]}, which has this user, does not answer") as caught:
        stack.stub(services[0]).GetTimeline(GetTimelineRequest(user=stranger), timeout=PATIENCE_S)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    stack.supervisor.restart("replica-1")
    cursor = Cursor(held=[message.added.number for message in told[:5]])
    assert resumed(stack.stub(services[0]), stranger, cursor).added.id == "p5"


def resumed(stub: Any, user: str, cursor: Cursor) -> SubscribeResponse:
    """The first message. A replica that came back is found again in a moment: until then, as a client does, again."""
    while True:
        try:
            message: SubscribeResponse = next(
                stub.Subscribe(SubscribeRequest(user=user, cursor=cursor), timeout=PATIENCE_S)
            )
        except grpc.RpcError as error:
            assert error.code() is grpc.StatusCode.UNAVAILABLE  # noqa: PT017 -- any other is a fault
        else:
            return message


def test_replicas_that_disagree_say_so(stack: Stack) -> None:
    peers = timeline_addresses(2)
    # Each takes itself for the first of two.
    services = [stack.start("first", peers=peers), stack.start("second", peers=peers[::-1])]
    stranger = next(user for user in USERS if partition_of(user_number(user), 8) % 2 == 1)
    stub = stack.stub(services[0])
    calls: list[Callable[[], Any]] = [
        lambda: stub.GetTimeline(GetTimelineRequest(user=stranger), timeout=PATIENCE_S),
        lambda: stub.GetTimelines(
            GetTimelinesRequest(requests=[GetTimelineRequest(user=stranger)]), timeout=PATIENCE_S
        ),
        lambda: next(stub.Subscribe(SubscribeRequest(user=stranger), timeout=PATIENCE_S)),
    ]
    for call in calls:
        with pytest.raises(grpc.RpcError, match="replicas disagree about who has this user") as caught:
            call()
        assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
