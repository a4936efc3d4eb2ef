"""All devices at once, on the real clock.

In:  how many devices, a seed, the world they share. Out: nothing; the world has it.
The number of devices stays the same: one that leaves is followed by a new one, of another user. The seed decides who
they are and what their networks do; the machine decides the order in which it all happens.
"""

import asyncio
import time
from itertools import count
from random import Random

from penstock.demo.activity import Activity
from penstock.demo.device import Device, World
from penstock.demo.population import draw, user_of


class RealTime:
    """This machine's clock, which is the service's too. Make it inside of an event loop."""

    def __init__(self) -> None:
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def is_over(self) -> bool:
        return self._over.done()

    def end(self) -> None:
        """Wakes everyone who waits."""
        if not self._over.done():
            self._over.set_result(None)

    def now_us(self) -> int:
        return time.time_ns() // 1000

    async def wait_us(self, span_us: int) -> None:
        if span_us > 0 and not self.is_over:
            await asyncio.wait((self._over,), timeout=span_us / 1e6)

    async def rest_us(self, span_us: int) -> None:
        await asyncio.sleep(span_us / 1e6)


class Fleet:
    def __init__(self, devices: int, seed: int, world: World) -> None:
        self._devices, self._seed, self._world = devices, seed, world
        self._numbers = count(1)
        # Who is here now, in the order in which they came.
        self.users: dict[str, None] = {}

    async def run(self) -> None:
        """Ends when time is over and every device has handed in what it held."""
        async with asyncio.TaskGroup() as places:
            for _ in range(self._devices):
                places.create_task(self._one_after_the_other())

    async def _one_after_the_other(self) -> None:
        while not self._world.time.is_over:
            number = next(self._numbers)
            self.users[user_of(number)] = None
            await self._device(number).live()
            del self.users[user_of(number)]

    def _device(self, number: int) -> Device:
        random = Random(f"{self._seed}/{number}")
        member = draw(random, self._world.plan, self._devices, number, self._world.time.now_us())
        return Device(member, random, Activity(random, user_of(number), self._devices), self._world)
