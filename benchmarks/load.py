"""Sends prebuilt batches as fast as they are acknowledged: the client's side of bench-ingest, in its own process.

In (arguments): address, events per batch, batches, calls under way, devices.
Out (standard output): one JSON object: seconds, CPU seconds, latencies, acknowledged events.
Batches are built before the clock starts, so what is measured here is gRPC alone.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import dataclass

import grpc
import uvloop
from penstock.events.v1.event_pb2 import Event
from penstock.ingest.v1.ingest_pb2 import PublishRequest, PublishResponse

PUBLISH = "/penstock.ingest.v1.IngestService/Publish"


def event(seq: int, now_us: int) -> Event:
    """About 160 bytes with 4 attributes."""
    made = Event(type="post.created", seq=seq)
    made.occurred.wall_us = now_us
    made.occurred.steady_us = now_us // 1000
    made.attributes["author"] = f"user-{seq % 10_000:08d}"
    made.attributes["post_id"] = f"post-{seq:012d}"
    made.attributes["text"] = "the quick brown fox jumps over the lazy dog"
    made.attributes["lang"] = "en"
    return made


def batches(run: str, size: int, count: int, devices: int) -> list[bytes]:
    """Each device numbers its events without gaps; devices take turns."""
    built, now_us = [], time.time_ns() // 1000
    for number in range(count):
        request = PublishRequest(device_id=f"bench-{run}-{number % devices:04d}", boot_id=f"boot-{run}")
        request.sent.wall_us = now_us
        request.sent.steady_us = now_us // 1000
        first = number // devices * size + 1
        request.events.extend(event(seq, now_us) for seq in range(first, first + size))
        built.append(request.SerializeToString())
    return built


@dataclass
class Outcome:
    acknowledged: int
    latencies_s: list[float]


async def send(address: str, requests: list[bytes], under_way: int) -> Outcome:
    outcome = Outcome(0, [])
    waiting = iter(requests)
    options = [("grpc.max_send_message_length", 8 << 20)]
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        publish = channel.unary_unary(PUBLISH, bytes, bytes)

        async def sender() -> None:
            for request in waiting:
                began = time.perf_counter()
                answer = PublishResponse.FromString(await publish(request, timeout=30))
                outcome.latencies_s.append(time.perf_counter() - began)
                outcome.acknowledged += answer.accepted

        await asyncio.gather(*(sender() for _ in range(under_way)))
    return outcome


def main() -> None:
    address, run = sys.argv[1], sys.argv[2]
    size, count, under_way, devices = (int(argument) for argument in sys.argv[3:7])
    requests = batches(run, size, count, devices)
    cpu, began = time.process_time(), time.perf_counter()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        outcome = runner.run(send(address, requests, under_way))
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    latencies = sorted(outcome.latencies_s)
    result = {
        "seconds": took,
        "cpu_seconds": cpu,
        "acknowledged": outcome.acknowledged,
        "event_bytes": len(requests[0]) / size,
        "p50_ms": latencies[len(latencies) // 2] * 1000,
        "p99_ms": latencies[len(latencies) * 99 // 100] * 1000,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
