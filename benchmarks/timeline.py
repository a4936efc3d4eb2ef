"""How many timeline entries per second the pipeline makes of posts and follows, what one costs, how soon it is seen.

A Kafka (C2 on), the join in Spark and one timeline service, on a power-law graph of 100,000 users and 2 million
follows; beside it, in the same run and in turns, timelines in Redis as Mastodon keeps them, of the same posts. Then
reads with and without that load, the time from Publish to a subscriber, the cost of an entry as authors have more
followers, memory, and one author with a million followers. At the end every timeline is compared with the tables' logs.
The last line is one JSON object. --quick for a short look.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from stack import say
from timeline_audit import differing
from timeline_celebrity import fan, measure_celebrity
from timeline_chain import chain
from timeline_course import Burst, Course, course
from timeline_cpu import standing_still
from timeline_data import Rows, power_law, user_name
from timeline_growth import CAPACITY, fill, measure_growth, measure_memory, measure_push
from timeline_load import Load
from timeline_merge import measure_merging
from timeline_oracle import read_oracle
from timeline_redis import Bare, Client, FanOut, bytes_of_a_timeline, entries, fan_out, start_redis
from timeline_redis_program import redis_program
from timeline_report import Figures, Reads, Round, report
from timeline_visible import Probe

HERE = Path(__file__).parent
SEED = 20
DAY_US = 86_400_000_000
READERS_GRACE_S = 60.0
WARM_UP = 100  # authors, so that all shards have some


@dataclass(frozen=True)
class Size:
    users: int = 100_000
    edges: int = 2_000_000
    rounds: int = 3
    posts: int = 75_000  # in a round
    redis_s: float = 6.0  # in a round, each way
    reads_s: float = 8.0
    samples: int = 150  # of the time until a post is seen
    per_s: float = 4.0
    growth_posts: int = 40  # of each author
    fans: int = 900_000
    celebrity_samples: int = 100


QUICK = Size(
    users=2_000, edges=20_000, rounds=1, posts=4_000, redis_s=1.0, reads_s=2.0, samples=20, growth_posts=10,
    fans=8_000, celebrity_samples=20,
)  # fmt: skip


def race(on: Course, rows: Rows, load: Load, port: int, size: Size) -> list[Round]:
    """The first round is a warm-up, which the compilers of the JVMs need."""
    rounds = []
    for number in range(size.rounds + 1):
        ours = on.burst(load.rows(rows, number))
        redis = race_redis(on, load, Client(port), 2 * number, size.redis_s)
        bare = race_redis(on, load, Bare(port), 2 * number + 1, size.redis_s)
        if number:
            rounds.append(Round(ours, redis, bare))
        say(
            f"{f'round {number} of {size.rounds}' if number else 'warming up'}: {ours.rate:,.0f} entries/s at"
            f" {ours.cpu_us:.2f} µs, redis-py {redis.rate:,.0f}, bare {bare.rate:,.0f}"
        )
    return rounds


def race_redis(on: Course, load: Load, client: Client | Bare, run: int, seconds: float) -> FanOut:
    """With the same posts, under ids of their own. Everything else stands still."""
    authors = load.authors(run // 2)
    try:
        with standing_still(on.supervisor.pid("jobs")), standing_still(on.supervisor.pid("timeline")):
            pieces = entries(authors.tolist(), load.audience, run * len(authors))
            return fan_out(client, on.supervisor.pid("redis"), pieces, seconds)
    finally:
        client.close()


class Readers:
    """Reads from a process of its own while it is open."""

    def __init__(self, on: Course, users: int) -> None:
        command = [sys.executable, str(HERE / "timeline_reads.py"), on.service.address, str(users)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._process.stdout.readline()  # it says when it begins

    def finish(self) -> tuple[Reads, int]:
        """What they found, and how many pages were wrong."""
        out, _ = self._process.communicate(timeout=READERS_GRACE_S)
        if self._process.returncode:
            raise SystemExit("the readers failed; their words are above")
        found = json.loads(out)
        return Reads(found["1"], found["8"]), found["wrong"]


def read_idle(on: Course, size: Size) -> tuple[Reads, int]:
    readers = Readers(on, size.users)
    on.supervisor.wait(size.reads_s)
    return readers.finish()


def read_loaded(on: Course, rows: Rows, load: Load, size: Size) -> tuple[Burst, Reads, int]:
    """For as long as a burst takes."""
    readers = Readers(on, size.users)
    burst = on.burst(load.rows(rows, size.rounds + 1))
    return burst, *readers.finish()


def audit(on: Course, size: Size) -> tuple[int, int]:
    """Timelines compared, and how many of them differ."""
    on.settle()
    oracle = read_oracle(on.bootstrap, Path(on.settings["PENSTOCK_PIPELINE"]), CAPACITY)
    served = on.described(with_hash=True).hashes
    names = [user_name(user) for user in range(size.users)] + [fan(number) for number in range(size.fans)]
    return len(oracle.users), differing(on.stub, oracle, served, names)


def measure(size: Size) -> Figures:
    program = redis_program()
    now_us = time.time_ns() // 1000
    rows = Rows(now_us - DAY_US)
    say(f"a graph of {size.users:,} users and {size.edges:,} follows")
    edges = power_law(size.users, size.edges, SEED)
    load = Load(edges, size.users, size.posts)
    with course(merge_above=size.users) as on:
        port = start_redis(on.supervisor, program)
        on.warm_up(rows.post(f"nobody-follows-{number}", "p") for number in range(WARM_UP))
        say("writing the follows")
        bootstrap = on.burst(rows.follows(edges))
        say(f"all follows are applied: {bootstrap.rows / bootstrap.seconds:,.0f} per second")
        rounds = race(on, rows, load, port, size)
        redis_bytes = bytes_of_a_timeline(port)
        on.supervisor.end("redis")
        say("reading, first without and then under a write load")
        idle, wrong_idle = read_idle(on, size)
        loaded_burst, loaded, wrong_loaded = read_loaded(on, rows, load, size)
        probe = Probe(on, Rows(now_us))
        say("posting now and then: to the tables, then to ingestion (enrichment reads the tables first)")
        visible_tables = probe.run(probe.through_tables, size.samples, size.per_s)
        with chain(on) as publish:
            visible = probe.run(publish, size.samples, size.per_s)
        say("authors with more and more followers")
        growth = measure_growth(on, rows, size.users, size.growth_posts)
        push = measure_push(on, rows, size.users)
        say("filling all timelines")
        fill(on, rows, size.users, now_us - 10 * DAY_US)
        memory = measure_memory(on)
        say(f"an author with {size.users + size.fans:,} followers")
        celebrity = measure_celebrity(on, rows, probe, size.users, size.fans, size.celebrity_samples)
        probe.close()
        say("comparing all timelines with the tables' logs")
        audited, different = audit(on, size)
    return Figures(
        size.users, bootstrap, rounds, idle, loaded, loaded_burst, visible, visible_tables, growth, push, memory,
        redis_bytes, measure_merging(), celebrity, audited, different, wrong_idle + wrong_loaded,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=Size.users)
    parser.add_argument("--edges", type=int, default=Size.edges)
    parser.add_argument("--rounds", type=int, default=Size.rounds)
    parser.add_argument("--posts", type=int, default=Size.posts, help="in a round")
    parser.add_argument("--quick", action="store_true", help="few users, one round")
    options = parser.parse_args()
    if min(options.users, options.edges, options.rounds, options.posts) < 1:
        parser.error("--users, --edges, --rounds and --posts must be 1 or more")
    size = Size(users=options.users, edges=options.edges, rounds=options.rounds, posts=options.posts)
    print(json.dumps(report(measure(QUICK if options.quick else size))))


if __name__ == "__main__":
    main()
