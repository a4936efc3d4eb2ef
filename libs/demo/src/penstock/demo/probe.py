"""How long it takes from publishing a post until the timeline of a follower shows it.

In:  a post every second or so, by an author whom one reader follows.
Out: the latency of each, from the call of `publish` until the reader's subscription has told of it.
Bounded: a post that was not seen after `PATIENCE_US` is given up, and counted.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from itertools import count
from random import Random
from typing import Protocol

from penstock.client import Added, Change
from penstock.demo.device import Time
from penstock.demo.histogram import Histogram
from penstock.demo.society import PROBE_AUTHOR, PROBE_READER

PATIENCE_US = 60_000_000
_PAUSE_US = (600_000, 1_400_000)  # never in step with the join's batches
_REMEMBERED = 60


class Publisher(Protocol):
    """As the client has it."""

    async def publish(self, event_type: str, /, attributes: Mapping[str, str]) -> object: ...


def _steady_us() -> int:
    return time.monotonic_ns() // 1000


class Probe:
    def __init__(self, steady_us: Callable[[], int] = _steady_us) -> None:
        self.latency_us = Histogram()
        self.newest_us: deque[int] = deque(maxlen=_REMEMBERED)
        self.given_up = 0
        self._under_way: dict[str, int] = {}
        self._steady_us = steady_us

    @property
    def under_way(self) -> int:
        """Published, and not seen yet."""
        return len(self._under_way)

    async def publish(self, publisher: Publisher, time: Time, random: Random) -> None:
        """Until time is over."""
        await publisher.publish("follow.created", {"follower": PROBE_READER, "author": PROBE_AUTHOR})
        for number in count(1):
            await time.wait_us(random.randint(*_PAUSE_US))
            if time.is_over:
                return
            self._give_up()
            post_id = f"p{number}"
            self._under_way[post_id] = self._steady_us()
            text = f"Probe {number}"
            await publisher.publish("post.created", {"author": PROBE_AUTHOR, "post_id": post_id, "text": text})

    def take(self, change: Change) -> None:
        """What the reader's subscription tells."""
        if isinstance(change, Added) and (began_us := self._under_way.pop(change.post.id, None)) is not None:
            latency_us = self._steady_us() - began_us
            self.latency_us.add(latency_us)
            self.newest_us.append(latency_us)

    def _give_up(self) -> None:
        now_us = self._steady_us()
        for post_id in [one for one, began_us in self._under_way.items() if now_us - began_us > PATIENCE_US]:
            del self._under_way[post_id]
            self.given_up += 1
