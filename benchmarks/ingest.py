"""How many events per second become durable through ingestion, and what an event costs in CPU.

One ingestion worker, one embedded Kafka (C2 on), batches of 500, 50 and 1 events of about 160 bytes with 4
attributes; and in the same run a bare producer that writes one record per event. Rounds alternate between the two,
so that a noisy machine hits both; medians are reported. The last line is one JSON object. --quick for a short look.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from penstock.events.v1.event_pb2 import Event
from penstock.events.v1.raw_batch_pb2 import RawBatchView
from penstock.topics import load
from penstock.topics.content import content
from penstock.topics.kafka import ensure
from stack import Stack, say, stack

HERE = Path(__file__).parent
RAW = "events.raw.v1"
BARE = load().prefixed("bare-")
DEVICES = 64
# events per batch: (batches, calls under way)
SHAPES = {500: (1_200, 4), 50: (3_000, 16), 1: (6_000, 32)}


@dataclass(frozen=True)
class Round:
    """Of one run: rates in events per second, CPU in microseconds per event, latencies in milliseconds."""

    events: int
    rate: float
    cpu: dict[str, float]
    p50_ms: float = 0.0
    p99_ms: float = 0.0

    @property
    def total_cpu(self) -> float:
        return sum(self.cpu.values())


def child(script: str, *arguments: object) -> dict[str, float]:
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(ended.stdout)
    return result


def through_ingestion(target: Stack, run: str, size: int, batches: int, under_way: int) -> Round:
    before = {name: target.cpu_s(name) for name in ("ingestion", "kafka")}
    result = child("load.py", target.address, run, size, batches, under_way, DEVICES)
    events = size * batches
    if result["acknowledged"] != events:
        raise SystemExit(f"{events - result['acknowledged']:.0f} of {events} events were not acknowledged")
    cpu = {name: (target.cpu_s(name) - before[name]) / events * 1e6 for name in before}
    cpu["client"] = result["cpu_seconds"] / events * 1e6
    return Round(events, events / result["seconds"], cpu, result["p50_ms"], result["p99_ms"])


def bare(target: Stack, events: int) -> Round:
    before = target.cpu_s("kafka")
    result = child("bare.py", target.bootstrap, BARE.kafka_name(RAW), events)
    broker = (target.cpu_s("kafka") - before) / events * 1e6
    return Round(events, events / result["seconds"], {"kafka": broker, "client": result["cpu_seconds"] / events * 1e6})


def events_in_the_log(target: Stack) -> int:
    """How many different events can be read back. A batch is named by its device and its first event."""
    batches = {}
    for message in content({"bootstrap.servers": target.bootstrap}, RAW):
        view = RawBatchView.FromString(message.value() or b"")
        batches[view.device_id, Event.FromString(view.events[0]).seq] = len(view.events)
    return sum(batches.values())


def middle(rounds: list[Round]) -> Round:
    return Round(
        rounds[0].events,
        median(one.rate for one in rounds),
        {name: median(one.cpu[name] for one in rounds) for name in rounds[0].cpu},
        median(one.p50_ms for one in rounds),
        median(one.p99_ms for one in rounds),
    )


def measure(rounds: int, scale: int) -> dict[str, object]:
    with stack() as target:
        ensure({"bootstrap.servers": target.bootstrap}, BARE, names=[RAW])
        results: dict[int, list[Round]] = {size: [] for size in SHAPES}
        yardstick: list[Round] = []
        expected = 0
        say("warming up (the broker's compiler needs it)")
        for number in range(rounds + 1):
            for size, (batches, under_way) in SHAPES.items():
                one = through_ingestion(target, f"{size}x{number}", size, batches // scale, under_way)
                expected += one.events
                if number:
                    results[size].append(one)
            one = bare(target, 400_000 // scale)
            if number:
                yardstick.append(one)
                say(f"round {number} of {rounds}: {results[500][-1].rate:,.0f} events/s, bare {one.rate:,.0f}")
        say("reading everything back")
        lost = expected - events_in_the_log(target)
    return report({size: middle(found) for size, found in results.items()}, middle(yardstick), lost)


def report(by_size: dict[int, Round], yardstick: Round, lost: int) -> dict[str, object]:
    print(f"{'':>22} {'events/s':>10} {'CPU µs per event':>17}: ingestion  broker  client {'p50 ms':>8} {'p99 ms':>8}")
    for size, one in by_size.items():
        cpu = one.cpu
        print(
            f"{f'batches of {size}':>22} {one.rate:>10,.0f} {one.total_cpu:>17.2f}: {cpu['ingestion']:>9.2f} "
            f"{cpu['kafka']:>7.2f} {cpu['client']:>7.2f} {one.p50_ms:>8.1f} {one.p99_ms:>8.1f}"
        )
    cpu = yardstick.cpu
    print(
        f"{'bare producer':>22} {yardstick.rate:>10,.0f} {yardstick.total_cpu:>17.2f}: {'':>9} "
        f"{cpu['kafka']:>7.2f} {cpu['client']:>7.2f}"
    )
    print(f"events that were acknowledged and are not in the log: {lost}")
    main = by_size[500]
    return {
        "events_per_s": round(main.rate),
        "cpu_us_per_event": round(main.cpu["ingestion"], 2),
        "broker_cpu_us_per_event": round(main.cpu["kafka"], 2),
        "client_cpu_us_per_event": round(main.cpu["client"], 2),
        "ratio_to_bare_producer": round(main.rate / yardstick.rate, 2),
        "cpu_ratio_to_bare_producer": round(main.cpu["ingestion"] / cpu["client"], 2),
        "events_per_s_per_core_of_ingestion": round(1e6 / main.cpu["ingestion"]),
        "p99_ms": round(main.p99_ms, 1),
        "events_per_s_batches_of_50": round(by_size[50].rate),
        "events_per_s_batches_of_1": round(by_size[1].rate),
        "lost": lost,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the load, one round")
    options = parser.parse_args()
    print(json.dumps(measure(1, 10) if options.quick else measure(options.rounds, 1)))


if __name__ == "__main__":
    main()
