"""How many events per second enrichment makes of raw batches, what one costs in CPU, and how long a look-up takes.

One process of enrichment on an embedded Kafka (C2 on), with a table of 100,000 rows that have a past, and in the same
run Quix Streams' `join_lookup` on the same events and the same table (enrich_quix.py says how it is favoured). Events
have two shapes: page.viewed, which is joined, and post.created, which is joined and also becomes a row of a table.
Both contestants commit exactly once, up to 20,000 events in a transaction. They race in turns, so that a noisy machine
hits both. Everything that comes out is compared with an oracle. The last line is one JSON object. --quick for a short
look.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import enrich_ours as ours
import enrich_peer as peer
import table_memory
from enrich_check import Ledger, wrong_events, wrong_of_peer, wrong_rows
from enrich_data import BATCH, SHAPES, VIEWS, Oracle, changes, requests
from enrich_load import WriteLoad
from enrich_log import Log, Record
from enrich_race import Contestant, Race, await_that, race
from enrich_report import Figures, Lookups, report
from penstock.embedded.kafka import start_kafka
from penstock.embedded.supervisor import Supervisor
from penstock.topics.content import content
from stack import Stack, say

HERE = Path(__file__).parent
TRANSACTION_EVENTS = 20_000


@dataclass(frozen=True)
class Size:
    rounds: int = 3
    rows: int = 100_000
    batches: int = 160  # of page.viewed in a race of ours; half as many of post.created, which cost more
    peer_batches: int = 80  # whole transactions: Quix would wait for the rest of one
    load_batches: int = 160
    lookup_s: float = 4.0
    memory_rows: int = 200_000

    def batches_of(self, name: str) -> int:
        return self.batches if SHAPES[name] is VIEWS else self.batches // 2


QUICK = Size(rounds=1, rows=10_000, batches=80, peer_batches=40, load_batches=80, lookup_s=1.0, memory_rows=20_000)


@dataclass(frozen=True)
class Course:
    """All that the races run on: raw batches by round and shape, the last of them for the write load."""

    stack: Stack
    log: Log
    oracle: Oracle
    heats: dict[tuple[int, str], list[Record]]
    load: list[Record]


@contextmanager
def course(size: Size) -> Iterator[Course]:
    with tempfile.TemporaryDirectory() as folder, Supervisor(Path(folder), progress=say) as supervisor:
        kafka = start_kafka(supervisor, for_load=True)
        log, now_us = Log(kafka.bootstrap), time.time_ns() // 1000
        say(f"writing the raw batches through ingestion, and a table of {size.rows:,} rows")
        names = [(number, name) for number in range(size.rounds + 1) for name in SHAPES]
        plan = [(SHAPES[name], size.batches_of(name)) for _, name in names] + [(VIEWS, size.load_batches)]
        sent = [
            one for run, (shape, count) in enumerate(plan) for one in requests(shape, run, count, size.rows, now_us)
        ]
        staged = ours.stage(supervisor, kafka.bootstrap, sent, len(sent) * BATCH)
        table = list(changes(size.rows, now_us))
        ours.write_table(log, kafka.bootstrap, table)
        heats = {which: staged[f"boot-{run}"] for run, which in enumerate(names)}
        stack = Stack(kafka.bootstrap, "", supervisor)
        yield Course(stack, log, Oracle(table), heats, staged[f"boot-{len(names)}"])
        log.close()


def race_in_turns(on: Course, size: Size, us: Contestant, them: Contestant) -> dict[str, list[tuple[Race, Race]]]:
    """The first round is a warm-up, which the broker's compiler needs."""
    races: dict[str, list[tuple[Race, Race]]] = {name: [] for name in SHAPES}
    for (number, name), batches in on.heats.items():
        mine = race(on.stack, on.log, us, ours.RAW, batches, len(batches) * BATCH)
        events = list(peer.records(SHAPES[name], batches[: size.peer_batches]))
        theirs = race(on.stack, on.log, them, peer.topic(name, "events"), events, len(events))
        if number:
            races[name].append((mine, theirs))
        say(
            f"{f'round {number} of {size.rounds}' if number else 'warming up'}, {name}: "
            f"{mine.rate:,.0f} events/s at {mine.cpu_us:.1f} µs, Quix {theirs.rate:,.0f} at {theirs.cpu_us:.1f} µs"
        )
    return races


def look_up(address: str, rows: int, seconds: float) -> tuple[Lookups, int]:
    command = [sys.executable, str(HERE / "enrich_lookup.py"), address, str(rows), str(seconds)]
    result = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return Lookups(alone=result["1"], together=result["8"]), result["wrong"]


def values(on: Course, topic: str) -> Iterator[bytes]:
    for message in content({"bootstrap.servers": on.stack.bootstrap}, topic):
        yield message.value() or b""


def wrong_of_ours(on: Course) -> int:
    all_batches = [record for batches in on.heats.values() for record in batches] + on.load
    wrong = wrong_events(Ledger(all_batches, on.oracle), values(on, ours.ENRICHED))
    return wrong + wrong_rows(Ledger(all_batches, on.oracle), values(on, ours.POSTS))


def wrong_of_quix(on: Course, size: Size) -> int:
    wrong = 0
    for name, shape in SHAPES.items():
        raced = [batches[: size.peer_batches] for (_, of), batches in on.heats.items() if of == name]
        ledger = Ledger((record for batches in raced for record in batches), on.oracle)
        wrong += wrong_of_peer(ledger, shape, values(on, peer.topic(name, "enriched")))
    return wrong


def measure(size: Size) -> Figures:
    peer.environment()
    with course(size) as on:
        supervisor, bootstrap = on.stack.supervisor, on.stack.bootstrap
        us, service = ours.start(supervisor, bootstrap, on.log, TRANSACTION_EVENTS // BATCH)
        races = race_in_turns(on, size, us, peer.start(on.stack, on.log, on.oracle, TRANSACTION_EVENTS))
        supervisor.end("quix")
        say("looking up, first without and then under a write load")
        idle, wrong_idle = look_up(service.address, size.rows, size.lookup_s / 2)
        with WriteLoad(bootstrap, on.load, size.rows):
            loaded, wrong_loaded = look_up(service.address, size.rows, size.lookup_s)
        await_that(on.stack, lambda: ours.has_read_all(on.log), "enrichment to read what is left of the load")
        supervisor.end("enrichment")
        say("comparing everything that came out with the oracle, and weighing the table")
        with ThreadPoolExecutor(1) as beside:  # in processes of its own, which nothing else can make heavier
            memory = beside.submit(table_memory.memory, size.memory_rows, 2)
            wrong, wrong_quix = wrong_of_ours(on), wrong_of_quix(on, size)
    return Figures(races, idle, loaded, memory.result(), wrong + wrong_idle + wrong_loaded, wrong_quix)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=Size.rounds)
    parser.add_argument("--quick", action="store_true", help="a small table, short races, one round")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("needs --rounds 1 or more")
    print(json.dumps(report(measure(QUICK if options.quick else Size(rounds=options.rounds)))))


if __name__ == "__main__":
    main()
