from __future__ import annotations

import threading
from collections.abc import Iterator

import grpc
import pytest
from penstock.client import (
    Added,
    CaughtUp,
    Disconnection,
    NotYetVisibleError,
    PageQuery,
    Plaintext,
    Removed,
    Timelines,
    TimelinesError,
)
from penstock.client.testing import FakeIngest, FakeTimelines
from penstock.events.v1.event_pb2 import ConsistencyToken, Position

AHEAD = ConsistencyToken(positions=[Position(topic="timeline.deliveries.v1", partition=0, offset=99)])


@pytest.fixture
def timelines(fake_timelines: FakeTimelines) -> Iterator[Timelines]:
    with Timelines(fake_timelines.address, security=Plaintext(), timeout_s=30) as timelines:
        yield timelines


def test_a_token_is_waited_for(fake_timelines: FakeTimelines, timelines: Timelines) -> None:
    fake_timelines.follow("bob", "ada")
    with fake_timelines.hold():
        token = fake_timelines.post("ada", "p1", time_us=1)
        assert timelines.get("bob").posts == ()
        assert timelines.describe().partitions[0].lag_records == 1
        answers = []
        reader = threading.Thread(target=lambda: answers.append(timelines.get("bob", consistency=token)))
        reader.start()
    reader.join(60)
    (page,) = answers
    assert ([post.id for post in page.posts], page.stale) == (["p1"], False)


def test_a_token_that_is_not_reflected_in_time(impatient_timelines: FakeTimelines) -> None:
    with Timelines(impatient_timelines.address, security=Plaintext(), timeout_s=30) as timelines:
        with pytest.raises(NotYetVisibleError) as error:
            timelines.get("bob", consistency=AHEAD)
        assert (error.value.code, isinstance(error.value, TimelinesError)) == ("FAILED_PRECONDITION", True)
        assert timelines.get("bob", consistency=AHEAD, allow_stale=True).stale
        (page,) = timelines.get_many(["bob"], consistency=AHEAD, allow_stale=True)
        assert page.stale


def test_a_deadline_of_ones_own(fake_timelines: FakeTimelines, timelines: Timelines) -> None:
    with pytest.raises(TimelinesError) as error:
        timelines.get("bob", consistency=AHEAD, timeout_s=0.2)
    assert error.value.code in {"FAILED_PRECONDITION", "DEADLINE_EXCEEDED"}  # whoever was quicker


def test_pages_are_asked_for_when_they_are_wanted(fake_timelines: FakeTimelines, timelines: Timelines) -> None:
    fake_timelines.follow("bob", "ada")
    tokens = [fake_timelines.post("ada", f"p{number}", time_us=number) for number in range(5)]
    pages = timelines.pages("bob", limit=2, consistency=tokens[-1])
    assert [post.id for post in next(pages).posts] == ["p4", "p3"]
    fake_timelines.delete_post("ada", "p2")
    assert [[post.id for post in page.posts] for page in pages] == [["p1", "p0"]]


def test_a_timeline_holds_no_more_than_its_capacity() -> None:
    with FakeTimelines(capacity=2) as fake, Timelines(fake.address, security=Plaintext()) as timelines:
        fake.follow("bob", "ada")
        for number in range(4):
            fake.post("ada", f"p{number}", time_us=number)
        assert [post.id for post in timelines.get("bob").posts] == ["p3", "p2"]
        assert timelines.describe().capacity == 2


def test_a_refill_under_way_is_said(fake_timelines: FakeTimelines, timelines: Timelines) -> None:
    fake_timelines.refilling.add("bob")
    assert [page.refilling for page in timelines.get_many(["bob", PageQuery("ada")])] == [True, False]


def test_a_subscription_survives_a_server_that_goes_and_comes(
    fake_timelines: FakeTimelines, timelines: Timelines
) -> None:
    fake_timelines.follow("bob", "ada")
    fake_timelines.post("ada", "p1", time_us=1)
    lost: list[Disconnection] = []
    with timelines.subscribe("bob", on_disconnected=lost.append) as subscription:
        told = [next(subscription), next(subscription)]
        with fake_timelines.down():
            fake_timelines.delete_post("ada", "p1")
        while not isinstance(told[-1], Removed):  # what was on its way comes first
            told.append(next(subscription))
    kinds = [type(change) for change in told]
    assert kinds == [Added, *[CaughtUp] * (len(kinds) - 2), Removed]
    assert all(fake_timelines.address in str(one.error) for one in lost)
    assert [len(request.cursor.held) for request in fake_timelines.subscribed] == [0, 1]


def test_a_reader_that_is_too_slow_resumes(fake_timelines: FakeTimelines, timelines: Timelines) -> None:
    with timelines.subscribe("bob") as subscription:
        next(subscription)
        fake_timelines.cut(grpc.StatusCode.RESOURCE_EXHAUSTED, "too slow; resume from the last cursor")
        while len(fake_timelines.subscribed) < 2:
            assert isinstance(next(subscription), CaughtUp)


def test_a_subscription_that_makes_no_sense_ends(fake_timelines: FakeTimelines, timelines: Timelines) -> None:
    fake_timelines.fail_next(grpc.StatusCode.INVALID_ARGUMENT, "no such thing")
    with timelines.subscribe("bob") as subscription, pytest.raises(TimelinesError, match="no such thing"):
        next(subscription)
    assert fake_timelines.subscribed == []


def test_hanging_up_ends_subscriptions(fake_timelines: FakeTimelines) -> None:
    with Timelines(fake_timelines.address, security=Plaintext()) as timelines:
        subscription = timelines.subscribe("bob")
        next(subscription)
    assert list(subscription) == []


def test_a_server_that_is_something_else(fake: FakeIngest) -> None:
    timelines = Timelines(fake.address, security=Plaintext(), timeout_s=30)
    with timelines, pytest.raises(TimelinesError, match="is no timeline service"):
        timelines.describe()


def test_a_server_that_is_not_there() -> None:
    timelines = Timelines("127.0.0.1:1", security=Plaintext(), timeout_s=30)
    with timelines, pytest.raises(TimelinesError, match=r"service at 127\.0\.0\.1:1 answered UNAVAILABLE") as error:
        timelines.get("bob")
    assert isinstance(error.value.__cause__, grpc.RpcError)


def test_wrong_arguments_fail_at_once(timelines: Timelines) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        Timelines("127.0.0.1", security=Plaintext())
    with pytest.raises(ValueError, match="timeout_s must be greater than 0"):
        Timelines("127.0.0.1:1", security=Plaintext(), timeout_s=0)
    with pytest.raises(ValueError, match="timeout_s must be greater than 0"):
        timelines.get("bob", timeout_s=0)
    with pytest.raises(ValueError, match="whose timeline"):
        timelines.subscribe("")
