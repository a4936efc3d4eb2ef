import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from penstock.client.retry import Failure
from penstock.demo.device import World
from penstock.demo.fleet import Fleet, RealTime
from penstock.demo.ledger import Ledger
from penstock.demo.population import scenario
from penstock.demo.tally import Tally
from penstock.ingest.v1.ingest_pb2 import PublishRequest, PublishResponse

HOUR_US = 3_600_000_000


@dataclass
class Accepting:
    """Accepts everything; ends time when so many devices have come, or after so many requests if they do not."""

    time: RealTime
    devices_expected: int
    requests_max: int = 10_000
    devices: set[str] = field(default_factory=set)
    requests: int = 0
    on_request: Callable[[], None] = lambda: None

    async def publish(self, request: PublishRequest) -> PublishResponse | Failure:
        self.devices.add(request.device_id)
        self.requests += 1
        self.on_request()
        if len(self.devices) == self.devices_expected or self.requests == self.requests_max:
            self.time.end()
        return PublishResponse(accepted=len(request.events))


async def test_the_end_of_time_wakes_everyone_who_waits() -> None:
    time = RealTime()
    waiting = [asyncio.create_task(time.wait_us(HOUR_US)) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    time.end()
    time.end()
    await asyncio.gather(*waiting)
    await time.wait_us(HOUR_US)


async def test_all_devices_take_part_and_end_with_time() -> None:
    time = RealTime()
    service = Accepting(time, devices_expected=10)
    plan = replace(scenario(10), pause_us_least=1_000, pause_us_most=2_000)
    world = World(plan, time, service, Ledger(), Tally())
    fleet = Fleet(10, 1, world, {})
    present: list[int] = []
    service.on_request = lambda: present.append(len(fleet.users))
    assert len(fleet.users) == 10
    await fleet.run()
    assert set(present) <= set(range(1, 11))
    assert 10 in present
    assert not fleet.users
    assert len(service.devices) >= 10
    assert world.ledger.unacknowledged == 0
    assert world.ledger.acknowledged > 0


async def test_mostly_users_stay_when_their_devices_are_replaced_and_celebrities_always() -> None:
    time = RealTime()
    service = Accepting(time, devices_expected=200)
    plan = replace(scenario(10), pause_us_least=100, pause_us_most=200)
    world = World(plan, Hasty(time), service, Ledger(), Tally())
    fleet = Fleet(10, 1, world, {})
    seen: set[str] = set()
    service.on_request = lambda: seen.update(fleet.users)
    await fleet.run()
    assert len(service.devices) >= 200
    assert 10 < len(seen) < 100
    assert list(fleet.users) == []


class Hasty:
    """A time in which every device leaves after its first request, and nothing takes long."""

    def __init__(self, time: RealTime) -> None:
        self._time, self._now_us = time, time.now_us()

    @property
    def is_over(self) -> bool:
        return self._time.is_over

    def now_us(self) -> int:
        return self._now_us

    async def wait_us(self, span_us: int) -> None:
        self._now_us += 60_000_000
        await asyncio.sleep(0)

    async def rest_us(self, span_us: int) -> None:
        await asyncio.sleep(0)
