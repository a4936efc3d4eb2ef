"""Reads timelines as fast as they are answered, now one caller, now eight: bench-timeline's readers, a process.

In (arguments): address, how many users there are. Goes on until standard input is closed.
Out (standard output): a line when it begins, and at the end one JSON object: for each number of callers latencies and
     reads per second; wrong answers.
A latency is that of the whole answer; every twentieth is looked into.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise

import grpc
import uvloop
from penstock.timeline.v1.timeline_pb2 import GetTimelineRequest, GetTimelineResponse
from timeline_data import user_name

GET = "/penstock.timeline.v1.TimelineService/GetTimeline"
CALLERS = (1, 8)
LIMIT = 50
SLICE_S = 0.5
LOOK_INTO = 20


@dataclass
class Outcome:
    latencies_s: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def summary(self) -> dict[str, float]:
        ordered = sorted(self.latencies_s) or [0.0]
        return {
            "p50_ms": ordered[len(ordered) // 2] * 1000,
            "p99_ms": ordered[len(ordered) * 99 // 100] * 1000,
            "per_s": len(self.latencies_s) / max(self.seconds, 1e-9),
        }


def request_for(user: int) -> bytes:
    return GetTimelineRequest(user=user_name(user), limit=LIMIT).SerializeToString()


def is_right(answer: GetTimelineResponse) -> bool:
    """What any page must be: not too long, newest first."""
    times = [post.time_us for post in answer.posts]
    return len(times) <= LIMIT and all(newer >= older for newer, older in pairwise(times))


class Readers:
    def __init__(self, users: int) -> None:
        self.outcomes = {callers: Outcome() for callers in CALLERS}
        self.wrong = 0
        self._users = users
        self._random = random.Random(7)
        self._asked = 0

    async def run(self, address: str, stopped: asyncio.Event) -> None:
        async with grpc.aio.insecure_channel(address) as channel:
            get = channel.unary_unary(GET, bytes, bytes)
            await get(request_for(0), timeout=60)  # connects
            print("reading", flush=True)
            while not stopped.is_set():
                for callers, outcome in self.outcomes.items():
                    began = time.perf_counter()
                    until = began + SLICE_S
                    await asyncio.gather(*(self._call(get, outcome, until, stopped) for _ in range(callers)))
                    outcome.seconds += time.perf_counter() - began

    async def _call(
        self,
        get: Callable[..., Awaitable[bytes]],
        outcome: Outcome,
        until: float,
        stopped: asyncio.Event,
    ) -> None:
        while (began := time.perf_counter()) < until and not stopped.is_set():
            answer = await get(request_for(self._random.randrange(self._users)), timeout=60)
            outcome.latencies_s.append(time.perf_counter() - began)
            self._asked += 1
            if self._asked % LOOK_INTO == 0:
                self.wrong += not is_right(GetTimelineResponse.FromString(answer))


async def read(address: str, users: int) -> Readers:
    readers, stopped, loop = Readers(users), asyncio.Event(), asyncio.get_running_loop()
    waiting = loop.run_in_executor(None, sys.stdin.read)
    waiting.add_done_callback(lambda _: stopped.set())
    await readers.run(address, stopped)
    return readers


def main() -> None:
    address, users = sys.argv[1], int(sys.argv[2])
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        readers = runner.run(read(address, users))
    result = {str(callers): outcome.summary() for callers, outcome in readers.outcomes.items()}
    print(json.dumps(result | {"wrong": readers.wrong}))


if __name__ == "__main__":
    main()
