"""A subscription over calls that a test wrote down beforehand."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import grpc
import pytest
from penstock.client.change import CaughtUp, Removed
from penstock.client.cursor import from_wire
from penstock.client.errors import TimelinesError
from penstock.client.retry import Backoff, Failure
from penstock.client.subscription import Disconnection, Subscription
from penstock.timeline.v1.timeline_pb2 import Cursor, Heartbeat, PostRemoved, SubscribeRequest, SubscribeResponse

QUICK = Backoff(initial_us=1_000, max_us=2_000)
ENDLESS = Backoff(initial_us=3_600_000_000, max_us=3_600_000_000)


class Broken(grpc.RpcError):
    """As grpc raises it."""

    def __init__(self, code: grpc.StatusCode, detail: str = "as the test wanted") -> None:
        super().__init__(detail)
        self._code, self._detail = code, detail

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._detail

    def trailing_metadata(self) -> tuple[()]:
        return ()


class Calls:
    """Each call of Subscribe answers with the next script: responses, then the server's end or a fault."""

    def __init__(self, *scripts: Sequence[SubscribeResponse | Broken]) -> None:
        self.requests: list[SubscribeRequest] = []
        self.cancelled = 0
        self._scripts = list(scripts)

    def __call__(self, request: SubscribeRequest) -> Calls._Stream:
        self.requests.append(request)
        return Calls._Stream(self, list(self._scripts.pop(0)))

    class _Stream:
        def __init__(self, calls: Calls, script: list[SubscribeResponse | Broken]) -> None:
            self._calls, self._script = calls, script

        def __next__(self) -> SubscribeResponse:
            if not self._script:
                raise StopIteration
            step = self._script.pop(0)
            if isinstance(step, Broken):
                raise step
            return step

        def cancel(self) -> None:
            self._calls.cancelled += 1


def error_of(failure: Failure) -> TimelinesError:
    return TimelinesError(failure.code_name, str(failure))


def removed(number: int) -> SubscribeResponse:
    return SubscribeResponse(removed=PostRemoved(number=number), cursor=Cursor(held=[number]))


def alive(number: int) -> SubscribeResponse:
    return SubscribeResponse(heartbeat=Heartbeat(), cursor=Cursor(held=[number]))


def subscription(calls: Calls, lost: list[Disconnection], backoff: Backoff = QUICK) -> Subscription:
    return Subscription(calls, "bob", None, error_of=error_of, on_disconnected=lost.append, backoff=backoff)


def test_goes_on_from_the_last_change_handed_out() -> None:
    lost: list[Disconnection] = []
    unavailable = Broken(grpc.StatusCode.UNAVAILABLE)
    slow = Broken(grpc.StatusCode.RESOURCE_EXHAUSTED, "too slow; resume from the last cursor")
    calls = Calls([removed(1), removed(2), unavailable], [unavailable], [alive(3), slow], [removed(4)], [alive(5)])
    with subscription(calls, lost) as changes:
        assert changes.cursor is None
        told = [next(changes) for _ in range(5)]
        assert changes.cursor == from_wire(Cursor(held=[5]))
    assert [change.number if isinstance(change, Removed) else "alive" for change in told] == [1, 2, "alive", 4, "alive"]
    assert [list(request.cursor.held) for request in calls.requests] == [[], [2], [2], [3], [4]]
    assert not calls.requests[0].HasField("cursor")
    assert {request.user for request in calls.requests} == {"bob"}
    assert [(one.error.code, one.attempts) for one in lost] == [
        ("UNAVAILABLE", 1),
        ("UNAVAILABLE", 2),
        ("RESOURCE_EXHAUSTED", 1),
        ("UNAVAILABLE", 1),
    ]
    assert "the server ended the subscription" in str(lost[-1].error)
    assert all(0 < one.pause_s <= 0.002 for one in lost)


@pytest.mark.parametrize(
    "code", [grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.PERMISSION_DENIED]
)
def test_what_trying_again_does_not_change_is_raised_once(code: grpc.StatusCode) -> None:
    lost: list[Disconnection] = []
    calls = Calls([removed(1), Broken(code)])
    changes = subscription(calls, lost)
    next(changes)
    with pytest.raises(TimelinesError) as error:
        next(changes)
    assert (error.value.code, isinstance(error.value.__cause__, Broken)) == (code.name, True)
    assert (list(changes), lost, len(calls.requests)) == ([], [], 1)


def test_a_change_of_the_future_is_not_passed_over() -> None:
    changes = subscription(Calls([SubscribeResponse(cursor=Cursor(held=[1]))]), [])
    with pytest.raises(TimelinesError, match="this version does not know"):
        next(changes)
    assert changes.cursor is None
    assert list(changes) == []


def test_connects_only_when_asked_and_hangs_up_once() -> None:
    calls = Calls([alive(1)])
    changes = subscription(calls, [])
    assert calls.requests == []
    assert isinstance(next(changes), CaughtUp)
    changes.close()
    changes.close()
    assert (list(changes), calls.cancelled, len(calls.requests)) == ([], 1, 1)


def test_close_does_not_wait_for_the_next_attempt() -> None:
    waits = threading.Event()
    changes = Subscription(
        Calls([Broken(grpc.StatusCode.UNAVAILABLE)]),
        "bob",
        None,
        error_of=error_of,
        on_disconnected=lambda _: waits.set(),
        backoff=ENDLESS,
    )
    told: list[object] = []
    reader = threading.Thread(target=lambda: told.extend(changes))
    reader.start()
    assert waits.wait(60)
    changes.close()
    reader.join(60)
    assert (reader.is_alive(), told) == (False, [])


def test_a_fault_while_closing_is_no_fault() -> None:
    calls = Calls([alive(1), Broken(grpc.StatusCode.CANCELLED, "Locally cancelled by application!")])
    lost: list[Disconnection] = []
    changes = subscription(calls, lost)
    next(changes)
    stream = changes._connected()
    assert stream is not None
    changes.close()
    with pytest.raises(Broken):
        next(stream)
    assert (list(changes), lost) == ([], [])
