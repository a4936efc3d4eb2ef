from __future__ import annotations

import pytest
from google.rpc import code_pb2
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.client.attempt import Attempt, Reset, Send, Wait, Window
from penstock.client.batch import Batch
from penstock.client.encoding import event_of
from penstock.client.errors import (
    BatchRejectedError,
    DeliveryTimeoutError,
    EventDroppedError,
    PenstockError,
    PublisherClosedError,
)
from penstock.client.outbox import Outbox
from penstock.client.reading import Reading
from penstock.client.receipt import Pending, Status
from penstock.client.retry import Failure
from penstock.client.settings import PublisherSettings
from penstock.events.v1.raw_batch_pb2 import REFUSAL_REASON_DUPLICATE, REFUSAL_REASON_UNKNOWN_TYPE
from penstock.ingest.v1.ingest_pb2 import PublishRequest, PublishResponse, Refusal

SMALL = PublisherSettings(
    batch_events_max=3,
    batch_bytes_max=400,
    linger_s=0.01,
    buffer_events_max=10,
    buffer_bytes_max=600,
    request_timeout_s=1,
    delivery_timeout_s=10,
    retry_initial_s=0.1,
    retry_max_s=1,
)
MS = 1000
S = 1_000_000
UNAVAILABLE = Failure(code_pb2.UNAVAILABLE, "gone")


class Rig:
    """An outbox, a clock, and a server that knows duplicates."""

    def __init__(self, settings: PublisherSettings = SMALL) -> None:
        self.outbox = Outbox("d", "b", settings, lambda: 0.5)
        self.now_us = 0
        self.pending: list[Pending] = []
        self.settled: list[Batch] = []
        self.under_way: list[tuple[Attempt, PublishRequest]] = []
        self.lost: list[tuple[Attempt, PublishRequest]] = []
        self.log: dict[int, str] = {}
        self.arrivals: list[int] = []

    def publish(self, event_type: str = "t", text: str = "") -> bool:
        content = f"{len(self.pending)}{text}"
        event = event_of(event_type, {"content": content}, b"", self.now_us + 1, None, {})
        batch = self.outbox.buffer.add(event, self.now_us)
        if batch is not None:
            self.pending.append(Pending(batch, event.seq))
        return batch is not None

    def step(self) -> Send | Wait | Reset:
        self.settle(self.outbox.expire(self.now_us))
        step = self.outbox.next(self.now_us)
        if isinstance(step, Send):
            self.check_order(step.attempt)
            request = PublishRequest.FromString(self.outbox.request(step.attempt, Reading(self.now_us + 1, 7)))
            self.under_way.append((step.attempt, request))
        elif isinstance(step, Reset):
            self.under_way.clear()
            self.settle(self.outbox.broken(Failure.overdue(step.detail), self.now_us))
        return step

    def check_order(self, attempt: Attempt) -> None:
        """Nothing with a lower number is left behind, however batches failed before."""
        under_way = {attempt.batch, *(earlier.batch for earlier, _ in self.under_way)}
        waiting = [p.seq for p in self.pending if not p.done() and p._batch not in under_way]
        assert attempt.batch.first_seq <= min(waiting, default=attempt.batch.first_seq), "the lowest number goes first"

    def take(self, request: PublishRequest) -> PublishResponse:
        response = PublishResponse(clock_token=f"after {len(self.arrivals)}".encode())
        for index, event in enumerate(request.events):
            content = event.attributes["content"]
            if event.type == "bad":
                response.refusals.add(index=index, reason=REFUSAL_REASON_UNKNOWN_TYPE, detail="bad")
            elif event.seq in self.log:
                assert self.log[event.seq] == content, "one identity, one event"
                response.refusals.add(index=index, reason=REFUSAL_REASON_DUPLICATE)
            else:
                self.log[event.seq] = content
                self.arrivals.append(event.seq)
                response.accepted += 1
        return response

    def answer(self, which: int = 0) -> None:
        attempt, request = self.under_way.pop(which)
        self.settle(self.outbox.answered(attempt, self.take(request), self.now_us, Reading(self.now_us + 5, 9)))

    def fail(self, which: int = 0, failure: Failure = UNAVAILABLE, taken: bool = False) -> None:
        attempt, request = self.under_way.pop(which)
        if taken:
            self.take(request)
        self.settle(self.outbox.failed(attempt, failure, self.now_us))

    def settle(self, batches: list[Batch]) -> None:
        assert not set(batches) & set(self.settled), "settled twice"
        self.settled += batches

    def drain(self) -> None:
        """A server that is there, and time that passes."""
        self.outbox.buffer.flush()
        for _ in range(1000):
            while self.under_way:
                self.answer()
            if self.outbox.settled_through() == self.outbox.buffer.last_seq:
                return
            step = self.step()
            if isinstance(step, Wait):
                assert step.until_us is not None
                self.now_us = max(self.now_us, step.until_us)
        raise AssertionError("never done")

    def opened(self) -> Rig:
        self.step()
        self.answer()
        return self


def test_opens_with_a_clock_exchange_and_echoes_its_token() -> None:
    rig = Rig()
    rig.publish()
    assert isinstance(rig.step(), Send)
    assert not rig.under_way[0][1].events
    assert isinstance(rig.step(), Wait)  # data waits for it
    rig.answer()
    rig.now_us = 20 * MS
    rig.step()
    request = rig.under_way[0][1]
    assert request.clock_token == b"after 0"
    assert (request.reply_received.wall_us, request.reply_received.steady_us) == (5, 9)
    assert (request.sent.wall_us, request.sent.steady_us) == (20 * MS + 1, 7)
    assert (request.device_id, request.boot_id, request.events[0].seq) == ("d", "b", 1)


@pytest.mark.parametrize(("code", "again"), [(code_pb2.UNAVAILABLE, True), (code_pb2.UNIMPLEMENTED, False)])
def test_failed_exchange_is_not_fatal(code: int, again: bool) -> None:
    rig = Rig()
    rig.publish()
    rig.step()
    rig.fail(failure=Failure(code, "no"))
    rig.now_us = 1 * S
    rig.step()
    assert bool(rig.under_way[0][1].events) is not again
    rig.drain()
    assert rig.log == {1: "0"}


def test_lingers_for_company_unless_full_or_flushed() -> None:
    rig = Rig().opened()
    rig.publish()
    assert rig.step() == Wait(10 * MS)
    rig.now_us = 4 * MS
    rig.publish()
    assert rig.step() == Wait(10 * MS)
    rig.publish()
    assert isinstance(rig.step(), Send)
    assert len(rig.under_way[0][1].events) == 3
    rig.answer()
    rig.publish()
    rig.outbox.buffer.flush()
    assert isinstance(rig.step(), Send)


def test_batches_are_bounded_in_bytes() -> None:
    rig = Rig().opened()
    assert rig.publish(text="x" * 180)
    assert rig.publish(text="x" * 180)
    rig.step()
    assert len(rig.under_way[0][1].events) == 1


def test_resend_keeps_identity_and_stamps_sent_anew() -> None:
    rig = Rig().opened()
    rig.publish()
    rig.now_us = 10 * MS
    rig.step()
    first = rig.under_way[0][1]
    rig.fail(taken=True)
    assert rig.step() == Wait(10 * MS + 75 * MS)  # half of the first pause and half of the rest
    rig.now_us += 75 * MS
    rig.step()
    second = rig.under_way[0][1]
    assert second.events == first.events
    assert second.sent.wall_us == first.sent.wall_us + 75 * MS
    rig.answer()
    assert rig.pending[0]._settled().status is Status.DUPLICATE
    assert (rig.outbox.tally.resent, rig.outbox.tally.duplicates, rig.outbox.tally.acknowledged) == (1, 1, 1)


def test_server_decides_the_pause() -> None:
    rig = Rig().opened()
    rig.publish()
    rig.now_us = 10 * MS
    rig.step()
    rig.fail(failure=Failure(code_pb2.RESOURCE_EXHAUSTED, "busy", retry_after_us=2 * S))
    assert rig.step() == Wait(10 * MS + 2 * S + 200 * MS)


def test_final_failure_fails_the_batch_and_only_that() -> None:
    rig = Rig().opened()
    for _ in range(4):
        rig.publish()
    rig.step()
    rig.fail(failure=Failure(code_pb2.INVALID_ARGUMENT, "device_id is too long"))
    with pytest.raises(BatchRejectedError, match="INVALID_ARGUMENT: device_id is too long"):
        rig.pending[0]._settled()
    rig.drain()
    assert rig.pending[3]._settled().status is Status.ACCEPTED
    assert rig.outbox.tally.failed == 3


def test_gives_up_after_the_delivery_timeout_and_says_why() -> None:
    rig = Rig().opened()
    rig.publish()
    rig.outbox.buffer.flush()
    while not rig.pending[0].done():
        step = rig.step()
        if rig.under_way:
            rig.fail()
        elif isinstance(step, Wait) and not rig.pending[0].done():
            assert step.until_us is not None
            rig.now_us = step.until_us
    assert rig.now_us == 10 * S
    with pytest.raises(DeliveryTimeoutError, match=r"= 10 \(\d+ attempts\); the last failure was UNAVAILABLE: gone"):
        rig.pending[0]._settled()
    assert rig.outbox.tally.buffered == rig.outbox.tally.buffered_bytes == 0


def test_server_that_was_never_reached_is_not_called_no_attempt() -> None:
    rig = Rig()
    rig.publish()
    failures = 0
    while not rig.pending[0].done():
        step = rig.step()
        if rig.under_way:
            assert not rig.under_way[0][1].events, "the clock exchange keeps its place before the data"
            rig.fail()
            failures += 1
        elif isinstance(step, Wait) and not rig.pending[0].done():
            assert step.until_us is not None
            rig.now_us = step.until_us
    assert failures > 3
    with pytest.raises(DeliveryTimeoutError) as error:
        rig.pending[0]._settled()
    said = f"= 10 (not sent: {failures} attempts before it failed); the last failure was UNAVAILABLE: gone"
    assert str(error.value).endswith(said)


def test_event_behind_a_silent_exchange_was_not_sent() -> None:
    rig = Rig()
    rig.publish()
    rig.step()
    rig.now_us = 10 * S
    rig.settle(rig.outbox.expire(rig.now_us))
    with pytest.raises(DeliveryTimeoutError, match=r"delivery_timeout_s = 10 \(not sent\)$"):
        rig.pending[0]._settled()


def test_refused_is_a_receipt_with_the_reason() -> None:
    rig = Rig().opened()
    rig.publish()
    rig.publish("bad")
    rig.drain()
    good, bad = (p._settled() for p in rig.pending)
    assert (good.status, bad.status, bad.reason_name, bad.detail) == (
        Status.ACCEPTED,
        Status.REFUSED,
        "UNKNOWN_TYPE",
        "bad",
    )
    assert (rig.outbox.tally.acknowledged, rig.outbox.tally.refused) == (1, 1)


@pytest.mark.parametrize(
    "response",
    [PublishResponse(), PublishResponse(accepted=2), PublishResponse(refusals=[Refusal(index=7)])],
    ids=["nothing", "too many", "wrong index"],
)
def test_answer_that_does_not_add_up_acknowledges_nothing(response: PublishResponse) -> None:
    rig = Rig().opened()
    rig.publish()
    rig.outbox.buffer.flush()
    rig.step()
    attempt, _ = rig.under_way.pop()
    assert rig.outbox.answered(attempt, response, 0, Reading(0)) == []
    assert not rig.pending[0].done()
    rig.drain()
    assert rig.pending[0]._settled().status is Status.ACCEPTED


def test_window_lets_several_batches_go_in_order() -> None:
    rig = Rig().opened()
    rig.outbox.open_window(Window(batches=2, bytes=10_000))
    for _ in range(9):
        rig.publish()
    assert isinstance(rig.step(), Send)
    assert isinstance(rig.step(), Send)
    assert isinstance(rig.step(), Wait)
    assert [request.events[0].seq for _, request in rig.under_way] == [1, 4]


def test_window_bounds_bytes() -> None:
    rig = Rig().opened()
    rig.outbox.open_window(Window(batches=9, bytes=100))
    for _ in range(9):
        rig.publish()
    assert isinstance(rig.step(), Send)
    assert isinstance(rig.step(), Wait)


def test_broken_stream_resends_everything_in_order_after_one_pause() -> None:
    rig = Rig().opened()
    rig.outbox.open_window(Window(batches=3, bytes=10_000))
    for _ in range(9):
        rig.publish()
    for _ in range(3):
        rig.step()
    rig.under_way.clear()
    rig.settle(rig.outbox.broken(UNAVAILABLE, rig.now_us))
    assert rig.step() == Wait(75 * MS)
    rig.drain()
    assert rig.arrivals == list(range(1, 10))


@pytest.mark.parametrize("failing", [(0, 0, 0), (2, 1, 0), (1, 0, 0), (1, 1, 0)])
def test_batches_that_failed_one_by_one_leave_in_order(failing: tuple[int, ...]) -> None:
    rig = Rig().opened()
    rig.outbox.open_window(Window(batches=3, bytes=10_000))
    for _ in range(9):
        rig.publish()
    for _ in range(3):
        rig.step()
    for which in failing:
        rig.fail(which)
    rig.now_us = 1 * S
    for _ in range(3):
        rig.step()
    assert [request.events[0].seq for _, request in rig.under_way] == [1, 4, 7]


def test_overdue_answer_resets_the_stream() -> None:
    rig = Rig().opened()
    rig.publish()
    rig.outbox.buffer.flush()
    rig.step()
    assert rig.step() == Wait(1 * S)
    rig.now_us = 1 * S
    assert rig.step() == Reset("no answer within 1000 ms")
    rig.drain()
    assert rig.outbox.tally.resent == 1


def test_slow_outage_does_not_age_young_events_with_old_ones() -> None:
    rig = Rig()
    rig.step()  # the exchange never ends
    rig.publish()
    rig.now_us = 2 * S
    rig.publish()
    rig.under_way.clear()
    rig.outbox.broken(UNAVAILABLE, rig.now_us)
    rig.now_us = 10 * S
    rig.step()
    assert [p.done() for p in rig.pending] == [True, False]


def test_dropped_event_has_no_number() -> None:
    rig = Rig()
    while rig.publish():
        pass
    taken = len(rig.pending)
    dropped = Pending(rig.outbox.drop(), 0)
    with pytest.raises(EventDroppedError, match="full"):
        dropped._settled()
    assert rig.outbox.tally.dropped == 1
    rig.drain()
    rig.publish()
    assert rig.pending[-1].seq == taken + 1


def test_abandon_fails_everything_once() -> None:
    rig = Rig().opened()
    for _ in range(8):
        rig.publish()
    rig.step()
    attempt, request = rig.under_way.pop()
    rig.settle(rig.outbox.abandon(PublisherClosedError("closed")))
    assert all(p.done() for p in rig.pending)
    assert rig.outbox.answered(attempt, rig.take(request), 0, Reading(0)) == []
    assert rig.outbox.tally.snapshot().failed == 8
    assert rig.outbox.tally.buffered == rig.outbox.tally.buffered_bytes == 0


@pytest.mark.parametrize("device_id", ["", "x" * 129, "ü" * 65])
def test_device_id_is_checked(device_id: str) -> None:
    with pytest.raises(ValueError, match="device_id must have 1 to 128 bytes"):
        Outbox(device_id, "b", SMALL, lambda: 0.0)


def test_long_device_id_is_not_repeated() -> None:
    with pytest.raises(ValueError, match=r"1 to 128 bytes, and 'x{40}…' has 5000$"):
        Outbox("x" * 5000, "b", SMALL, lambda: 0.0)


WHICH = st.integers(0, 3)
# Lists of forty and more, with much going on, so that few examples stay in the shallows.
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.sampled_from([0, 0, 0, 150])),
        st.tuples(st.just("publish bad"), st.just(0)),
        st.tuples(st.just("send"), st.sampled_from([0, 12 * MS, 300 * MS, 1300 * MS, 3 * S])),
        st.tuples(st.just("send"), st.just(300 * MS)),
        st.tuples(st.just("answer"), WHICH),
        st.tuples(st.just("fail"), WHICH),
        st.tuples(st.just("lose reply"), WHICH),
        st.tuples(st.just("reject"), WHICH),
        st.tuples(st.just("break"), st.integers(0, 1)),
        st.tuples(st.just("late answer"), st.just(0)),
    ),
    min_size=40,
    max_size=120,
)


def act(rig: Rig, action: str, detail: int) -> None:
    if action == "publish":
        rig.publish(text="x" * detail)
    elif action == "publish bad":
        rig.publish("bad")
    elif action == "send":
        rig.now_us += detail
        rig.step()
    elif action == "break":
        for _, request in rig.under_way if detail else []:
            rig.take(request)
        rig.lost += rig.under_way
        rig.under_way.clear()
        rig.settle(rig.outbox.broken(UNAVAILABLE, rig.now_us))
    elif action == "late answer" and rig.lost:
        attempt, request = rig.lost.pop()
        rig.settle(rig.outbox.answered(attempt, rig.take(request), rig.now_us, Reading(1)))
    elif rig.under_way:
        respond(rig, action, detail % len(rig.under_way))


def respond(rig: Rig, action: str, which: int) -> None:
    if action == "answer":
        rig.answer(which)
    elif action == "reject":
        rig.fail(which, Failure(code_pb2.PERMISSION_DENIED, "no"))
    else:
        rig.fail(which, taken=action == "lose reply")


@settings(max_examples=150, deadline=None)
@given(actions=ACTIONS, window=st.sampled_from([None, Window(1, 300), Window(3, 900), Window(4, 10_000)]))
def test_any_interleaving_settles_every_event_once(actions: list[tuple[str, int]], window: Window | None) -> None:
    rig = Rig().opened()
    for action, detail in actions:
        if window is not None:
            rig.outbox.open_window(window)
        act(rig, action, detail)
        tally = rig.outbox.tally
        assert 0 <= tally.buffered <= SMALL.buffer_events_max
        assert 0 <= tally.buffered_bytes <= SMALL.buffer_bytes_max
        assert tally.buffered == sum(not p.done() for p in rig.pending)
        assert len(rig.under_way) <= (window.batches if window else 1)
    rig.drain()
    late = any(action == "late answer" for action, _ in actions)
    assert [p.seq for p in rig.pending] == list(range(1, len(rig.pending) + 1))
    for number, pending in enumerate(rig.pending):
        try:
            receipt = pending._settled()
        except PenstockError:
            continue  # said to have failed, so not lost silently
        assert receipt.status is Status.REFUSED or rig.log[pending.seq].startswith(str(number))
    assert rig.outbox.tally.acknowledged + rig.outbox.tally.refused + rig.outbox.tally.failed == len(rig.pending)
    assert rig.outbox.tally.buffered == rig.outbox.tally.buffered_bytes == 0
    if window is None and not late:
        assert rig.arrivals == sorted(rig.arrivals), "one batch under way: the log keeps the order"
