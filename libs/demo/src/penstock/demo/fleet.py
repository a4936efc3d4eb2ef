"""All devices at once, on the real clock.

In:  how many devices, a seed, the world they share, who follows whom. Out: nothing; the world has it.
The number of devices stays the same: one that leaves is followed by a new one. Mostly it is the same user's, who goes
on where they were; now and then it is somebody else's, who is new here. The first few, the celebrities, stay. The seed
decides who they are and what their networks do; the machine decides the order in which it all happens.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from itertools import count
from random import Random

from penstock.demo.activity import Activity
from penstock.demo.device import Device, World
from penstock.demo.population import draw, user_of

_CELEBRITIES = 5
_STAY = 0.75


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
    """`follows`: whom each of the first users follows at the beginning."""

    def __init__(self, devices: int, seed: int, world: World, follows: Mapping[str, Sequence[str]]) -> None:
        self._devices, self._seed, self._world, self._follows = devices, seed, world, follows
        self._numbers = count(1)
        # Who is here now, in the order in which they came.
        self.users: dict[str, None] = {user_of(number): None for number in range(1, devices + 1)}

    async def run(self) -> None:
        """Ends when time is over and every device has handed in what it held."""
        async with asyncio.TaskGroup() as places:
            for _ in range(self._devices):
                places.create_task(self._one_after_the_other(next(self._numbers)))

    async def _one_after_the_other(self, first: int) -> None:
        number, user, activity = first, user_of(first), self._activity(user_of(first))
        while True:
            random = Random(f"{self._seed}/{number}")
            member = draw(random, self._world.plan, self._devices, number, self._world.time.now_us())
            await Device(member, random, activity, self._world).live()
            if self._world.time.is_over:
                break
            number = next(self._numbers)
            if first > _CELEBRITIES and Random(f"{self._seed}/{number}/owner").random() >= _STAY:
                del self.users[user]
                user, activity = user_of(number), self._activity(user_of(number))
                self.users[user] = None
        del self.users[user]

    def _activity(self, user: str) -> Activity:
        random = Random(f"{self._seed}/{user}")
        return Activity(random, user, lambda: list(self.users), self._follows.get(user, ()))
