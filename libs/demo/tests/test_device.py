from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from penstock.client.retry import Failure
from penstock.demo.activity import Activity
from penstock.demo.device import Device, RefusedByServiceError, World
from penstock.demo.ledger import Identity, Ledger
from penstock.demo.population import Member, draw, scenario
from penstock.demo.tally import Tally
from penstock.events.v1.raw_batch_pb2 import RefusalReason
from penstock.ingest.v1.ingest_pb2 import PublishRequest, PublishResponse, Refusal
from penstock.simulation import Network, NetworkProfile

START_US = 1_790_000_000_000_000
SECOND_US = 1_000_000
UNAVAILABLE, INVALID_ARGUMENT = 14, 3


class FakeTime:
    """Waiting costs nothing and takes as long as it says."""

    def __init__(self, lasts_s: int) -> None:
        self._now_us, self._end_us = START_US, START_US + lasts_s * SECOND_US

    @property
    def is_over(self) -> bool:
        return self._now_us >= self._end_us

    def now_us(self) -> int:
        return self._now_us

    async def wait_us(self, span_us: int) -> None:
        if not self.is_over:
            self._now_us = min(self._now_us + span_us, self._end_us)

    async def rest_us(self, span_us: int) -> None:
        self._now_us += span_us


class FakeService:
    """Accepts what it has not seen, refuses what is not of the pipeline; `fails` may say otherwise."""

    def __init__(self, fails: Callable[[int], Failure | None] = lambda _: None) -> None:
        self.requests: list[PublishRequest] = []
        self._fails = fails
        self._seen: set[int] = set()

    async def publish(self, request: PublishRequest) -> PublishResponse | Failure:
        self.requests.append(request)
        failure = self._fails(len(self.requests))
        if failure is not None:
            return failure
        answer = PublishResponse(clock_token=f"token {len(self.requests)}".encode())
        for index, event in enumerate(request.events):
            if event.seq in self._seen:
                answer.refusals.append(Refusal(index=index, reason=RefusalReason.REFUSAL_REASON_DUPLICATE))
            elif event.type == "post.liked":
                answer.refusals.append(Refusal(index=index, reason=RefusalReason.REFUSAL_REASON_UNKNOWN_TYPE))
            else:
                self._seen.add(event.seq)
        return answer


def world(service: FakeService, lasts_s: int = 120) -> World:
    return World(scenario(300), FakeTime(lasts_s), service, Ledger(), Tally())


def member(seed: int = 1, network: NetworkProfile | None = None) -> Member:
    drawn = draw(Random(seed), scenario(300), 300, 301, START_US)
    if network is None:
        return drawn
    return replace(drawn, simulated=replace(drawn.simulated, network=Network(Random(seed), network)))


async def live(member: Member, world: World) -> None:
    random = Random(2)
    await Device(member, random, Activity(random, "u1", lambda: ["u1", "u2", "u3"]), world).live()


def numbers(service: FakeService) -> list[int]:
    return [event.seq for request in service.requests for event in request.events]


async def test_everything_that_happened_is_handed_in() -> None:
    service = FakeService()
    there = world(service)
    await live(member(), there)
    ledger = there.ledger
    assert ledger.acknowledged + ledger.refused == max(numbers(service)) > 100
    assert ledger.unacknowledged == 0
    assert ledger.refused == sum(there.tally.refused.values()) > 0
    assert there.tally.offline_now == 0


async def test_after_a_lost_reply_the_same_events_come_again_with_a_fresh_time_of_sending() -> None:
    service = FakeService()
    there = world(service)
    await live(member(network=NetworkProfile(lost_replies=0.5)), there)
    pairs = list(zip(service.requests, service.requests[1:], strict=False))
    again = [(a, b) for a, b in pairs if a.events and list(a.events) == list(b.events)]
    assert len(again) > 10
    assert all(a.sent.wall_us != b.sent.wall_us for a, b in again)
    assert there.tally.duplicates > 0
    assert there.ledger.acknowledged + there.ledger.refused == max(numbers(service))


async def test_a_lost_request_never_reaches_the_service() -> None:
    service = FakeService()
    there = world(service)
    await live(member(network=NetworkProfile(lost_requests=0.5)), there)
    assert there.tally.requests_lost > 10
    assert there.tally.requests == len(service.requests)
    assert numbers(service) == sorted(set(numbers(service)))


async def test_it_opens_with_a_clock_exchange_and_echoes_the_newest_token() -> None:
    service = FakeService()
    await live(replace(member(network=NetworkProfile()), has_tokens=True), world(service))
    opening, *rest = service.requests
    assert not opening.events
    assert not opening.clock_token
    assert all(request.clock_token and request.HasField("reply_received") for request in rest)


async def test_a_device_without_tokens_echoes_nothing() -> None:
    service = FakeService()
    await live(replace(member(), has_tokens=False), world(service))
    assert service.requests[0].events
    assert not any(request.clock_token for request in service.requests)


@pytest.mark.parametrize("has", [True, False])
async def test_only_some_devices_have_a_steady_clock(has: bool) -> None:
    service = FakeService()
    await live(replace(member(), has_steady_clock=has), world(service))
    times = [event.occurred for request in service.requests for event in request.events]
    assert all(time.HasField("steady_us") is has for time in times)


async def test_readings_are_what_the_clocks_show_at_the_true_time() -> None:
    service, who = FakeService(), member()
    there = world(service)
    await live(who, there)
    for request in service.requests:
        for event in request.events:
            true_us = there.ledger.read(Identity(request.device_id, request.boot_id, event.seq))
            if true_us is not None:
                assert event.occurred.wall_us == who.simulated.clocks.read(true_us).wall_us


async def test_failures_are_tried_again() -> None:
    service = FakeService(lambda n: Failure(UNAVAILABLE, "Kafka is away", 300_000) if n % 3 == 0 else None)
    there = world(service)
    await live(member(), there)
    assert there.tally.failed["UNAVAILABLE"] == len(service.requests) // 3
    assert there.ledger.unacknowledged == 0


async def test_a_batch_that_can_never_be_taken_ends_the_demo() -> None:
    service = FakeService(lambda _: Failure(INVALID_ARGUMENT, "no device id"))
    with pytest.raises(RefusedByServiceError, match="device-0301: INVALID_ARGUMENT: no device id"):
        await live(member(), world(service))


async def test_a_full_ledger_makes_the_devices_wait() -> None:
    service = FakeService()
    there = replace(world(service), ledger=Ledger(events_max=5))
    await live(member(), there)
    assert max(len(request.events) for request in service.requests) <= 5


async def test_what_happened_while_it_was_away_comes_first() -> None:
    service = FakeService()
    there = world(service, lasts_s=20)
    away_us = (START_US - 400 * SECOND_US, START_US - 390 * SECOND_US)
    returning = replace(member(network=NetworkProfile()), backlog_us=away_us, has_steady_clock=True, has_tokens=True)
    await live(returning, there)
    _, first, *later = service.requests
    began_us = returning.simulated.clocks.read(START_US).steady_us
    assert first.events
    assert all(event.occurred.steady_us < began_us for event in first.events)
    assert all(event.occurred.steady_us >= began_us for request in later for event in request.events)
    assert there.ledger.unacknowledged == 0
