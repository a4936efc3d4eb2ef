"""One simulated device: real calls to the real service, over a network and by clocks that are simulated.

In:  a member of the population, the time, the service.
Out: events in the service, what is true of them in the ledger, what the device lived through in the tally.
It behaves like our client: opens with a clock exchange, has one request under way, numbers its events, echoes the
newest token, and sends what was not answered again, with the same numbers and a fresh time of sending. Its network is
simulated by waiting before the call and before its answer is looked at, so that both clocks see what they would see.
"""

from dataclasses import dataclass
from random import Random
from typing import Protocol

from penstock.client.retry import Backoff, Failure, may_retry
from penstock.demo.activity import Activity
from penstock.demo.ledger import Identity, Ledger
from penstock.demo.population import Member
from penstock.demo.tally import Tally
from penstock.events.v1.event_pb2 import DeviceTime, Event
from penstock.events.v1.raw_batch_pb2 import RefusalReason
from penstock.ingest.v1.ingest_pb2 import PublishRequest, PublishResponse
from penstock.simulation import Scenario
from penstock.simulation.clocks import SECOND_US

EVENTS_PER_BATCH_MAX = 1_000
_STALLED_US = SECOND_US
_DUPLICATE = RefusalReason.REFUSAL_REASON_DUPLICATE
_PATIENCE_US = (SECOND_US // 2, 2 * SECOND_US)
_BACKOFF = Backoff(initial_us=200_000, max_us=2 * SECOND_US)


class Time(Protocol):
    """The true time, and waiting in it."""

    @property
    def is_over(self) -> bool:
        """The devices are to hand in what they hold: nothing is delayed or lost from now on."""

    def now_us(self) -> int: ...

    async def wait_us(self, span_us: int) -> None:
        """Waits that long, or until time is over."""

    async def rest_us(self, span_us: int) -> None:
        """Waits that long in any case."""


class Service(Protocol):
    async def publish(self, request: PublishRequest) -> PublishResponse | Failure: ...


class RefusedByServiceError(Exception):
    """The service will not take a batch however often it is sent: a bug in the demo or the service."""


@dataclass(frozen=True)
class World:
    """What all devices share."""

    plan: Scenario
    time: Time
    service: Service
    ledger: Ledger
    tally: Tally


@dataclass(frozen=True)
class _Echo:
    token: bytes
    arrived: DeviceTime


class Device:
    def __init__(self, member: Member, random: Random, activity: Activity, world: World) -> None:
        self._member, self._random, self._activity, self._world = member, random, activity, world
        self._time, self._ledger, self._tally = world.time, world.ledger, world.tally
        self._events_until_us = self._time.now_us()
        self._offline = [spell for spell in member.simulated.offline if spell[0] >= self._events_until_us]
        self._boot_id = f"boot-{member.simulated.clocks.read(self._events_until_us).boot + 1}"
        self._seq = 0
        self._echo: _Echo | None = None
        self._wall_minus_steady: int | None = None

    async def live(self) -> None:
        """Takes part until its time or all time is over, and leaves nothing unsent."""
        await self._time.wait_us(self._random.randint(0, self._world.plan.pause_us_most))
        self._events_until_us = self._time.now_us()  # the app starts, and with it the clock exchange
        if self._member.has_tokens:
            await self._deliver([])
        if self._member.backlog_us is not None:
            await self._deliver(self._events_between(*self._member.backlog_us))
        while True:
            await self._pause()
            if self._time.is_over:  # all hand in what they hold, but not in the same instant
                await self._time.rest_us(self._random.randint(0, self._world.plan.pause_us_least))
            if events := self._new_events():
                await self._deliver(events)
            if self._time.is_over or self._time.now_us() >= self._member.until_us:
                return

    async def _pause(self) -> None:
        plan = self._world.plan
        await self._time.wait_us(self._random.randint(plan.pause_us_least, plan.pause_us_most))
        if self._offline and self._offline[0][0] <= self._time.now_us():
            _, until_us = self._offline.pop(0)
            self._tally.offline_spells += 1
            self._tally.offline_now += 1
            await self._time.wait_us(max(0, until_us - self._time.now_us()))
            self._tally.offline_now -= 1

    def _new_events(self) -> list[Event]:
        """What has happened since the last time this was asked, offline or not."""
        since_us, self._events_until_us = self._events_until_us, self._time.now_us()
        return self._events_between(since_us, self._events_until_us)

    def _events_between(self, since_us: int, until_us: int) -> list[Event]:
        expected = self._member.events_per_s * (until_us - since_us) / SECOND_US
        count = min(int(expected + self._random.random()), EVENTS_PER_BATCH_MAX)
        times = sorted(self._random.randint(since_us, until_us) for _ in range(count))
        return [self._event(true_us) for true_us in times if not self._ledger.is_full]

    def _event(self, true_us: int) -> Event:
        self._seq += 1
        self._ledger.make(self._identity(self._seq), true_us)
        action = self._activity.next()
        return Event(type=action.type, seq=self._seq, occurred=self._read(true_us), attributes=action.attributes)

    async def _deliver(self, events: list[Event]) -> None:
        """Sends until answered."""
        failures = 0
        while True:
            answer = await self._attempt(events)
            if isinstance(answer, PublishResponse):
                self._settle(events, answer)
                return
            if isinstance(answer, Failure):
                if not may_retry(answer):
                    raise RefusedByServiceError(f"{self._member.device_id}: {answer}")
                failures += 1
                self._tally.failed[answer.code_name] += 1
                await self._time.rest_us(_BACKOFF.pause_us(failures, answer.retry_after_us, self._random.random()))
            else:
                await self._time.wait_us(self._random.randint(*_PATIENCE_US))

    async def _attempt(self, events: list[Event]) -> PublishResponse | Failure | None:
        """None: the network lost the request or its answer."""
        time, tally = self._time, self._tally
        travel, request = self._member.simulated.network.travel(), self._request(events)
        tally.stalled += max(travel.up_us, travel.down_us) >= _STALLED_US
        await time.wait_us(travel.up_us)
        if travel.request_lost and not time.is_over:
            tally.requests_lost += 1
            return None
        tally.requests += 1
        answer = await self._world.service.publish(request)
        if isinstance(answer, Failure):
            return answer
        if travel.reply_lost and not time.is_over:
            tally.replies_lost += 1
            return None
        await time.wait_us(travel.down_us)
        if self._member.has_tokens and answer.clock_token:
            self._echo = _Echo(answer.clock_token, self._read(time.now_us()))
        return answer

    def _request(self, events: list[Event]) -> PublishRequest:
        now_us = self._time.now_us()
        self._notice_set(now_us)
        request = PublishRequest(
            device_id=self._member.device_id,
            boot_id=self._boot_id,
            sent=self._read(now_us),
            events=events,
        )
        if self._echo is not None:
            request.clock_token = self._echo.token
            request.reply_received.CopyFrom(self._echo.arrived)
        return request

    def _settle(self, events: list[Event], answer: PublishResponse) -> None:
        refusals = {refusal.index: refusal.reason for refusal in answer.refusals}
        for index, event in enumerate(events):
            reason, identity = refusals.get(index), self._identity(event.seq)
            if reason is None:
                self._ledger.acknowledge(identity)
            elif reason == _DUPLICATE:
                self._tally.duplicates += 1
                self._ledger.acknowledge(identity)
            else:
                self._tally.refused[_reason_text(reason)] += 1
                self._ledger.refuse(identity)

    def _read(self, true_us: int) -> DeviceTime:
        reading = self._member.simulated.clocks.read(true_us)
        return DeviceTime(
            wall_us=reading.wall_us, steady_us=reading.steady_us if self._member.has_steady_clock else None
        )

    def _notice_set(self, now_us: int) -> None:
        """Both clocks count the same oscillator: their difference changes when the wall clock is set, and only then."""
        reading = self._member.simulated.clocks.read(now_us)
        difference = reading.wall_us - reading.steady_us
        if self._wall_minus_steady is not None and difference != self._wall_minus_steady:
            self._tally.clocks_set += 1
        self._wall_minus_steady = difference

    def _identity(self, seq: int) -> Identity:
        return Identity(self._member.device_id, self._boot_id, seq)


def _reason_text(reason: RefusalReason.ValueType) -> str:
    return RefusalReason.Name(reason).removeprefix("REFUSAL_REASON_").lower().replace("_", " ")
