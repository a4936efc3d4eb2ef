"""What bench-timeline found, for people and as one JSON object.

In:  what was measured. Out: text on standard output, and the figures for the last line.
Rates are medians over rounds; a ratio to Redis is the median of those within each round, which noise changes less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple, TypedDict

from timeline_celebrity import Celebrity
from timeline_course import Burst
from timeline_growth import Memory, Push
from timeline_merge import Merging
from timeline_redis import FanOut
from timeline_visible import Visible

SECONDS_BETWEEN_POSTS = 3_600
READS_PER_S = (10, 100, 1_000)
FLAT = 1.2


class Latency(TypedDict):
    p50_ms: float
    p99_ms: float
    per_s: float


class Reads(NamedTuple):
    """By one caller alone, and by eight together."""

    alone: Latency
    together: Latency


class Round(NamedTuple):
    ours: Burst
    redis: FanOut  # redis-py
    bare: FanOut  # straight to the socket


@dataclass(frozen=True)
class Figures:
    users: int
    bootstrap: Burst
    rounds: list[Round]
    idle: Reads
    loaded: Reads
    loaded_burst: Burst
    visible: Visible  # from Publish
    visible_tables: Visible
    growth: Mapping[int, Burst]
    push: Push
    memory: Memory
    redis_bytes: int
    merging: Merging
    celebrity: Celebrity
    audited_users: int
    audit_differences: int
    wrong_pages: int


def growth_pct(growth: Mapping[int, Burst]) -> float:
    """By how much an entry costs more, in CPU, with the most followers than where it costs least."""
    costs = [burst.cpu_us for burst in growth.values()]
    return (growth[max(growth)].cpu_us / min(costs) - 1) * 100


def flat_from(growth: Mapping[int, Burst]) -> int | None:
    """The least number of followers from which on no entry costs much more than where it costs least, if there is."""
    least = min(burst.cpu_us for burst in growth.values())
    dear = [followers for followers, burst in growth.items() if burst.cpu_us > FLAT * least]
    return min((followers for followers in growth if followers > max(dear, default=0)), default=None)


def merge_from(push_us: float, merge_us: float, reads_between_posts: float) -> float:
    """From how many followers on it costs less CPU to merge an author's posts than to write them to every follower.

    A post costs its followers times `push_us`; until the next one, each read of a follower costs `merge_us`.
    """
    return reads_between_posts * merge_us / max(push_us, 1e-9)


def report(found: Figures) -> dict[str, object]:
    ratio = median(one.ours.rate / one.redis.rate for one in found.rounds)
    bare_ratio = median(one.ours.rate / one.bare.rate for one in found.rounds)
    rate = median(one.ours.rate for one in found.rounds)
    print_rates(found, rate, ratio, bare_ratio)
    print_growth(found)
    print_reads(found)
    print_visible(found)
    print_merging(found)
    print_celebrity(found)
    print(f"audit: {found.audited_users:,} timelines compared with the tables' logs, {found.audit_differences} differ")
    star, memory = found.celebrity, found.memory
    return {
        "entries_per_s": round(rate),
        "ratio_to_redis": round(ratio, 1),
        "bytes_per_timeline": round(memory.inbox),
        "growth_pct": round(growth_pct(found.growth), 1),
        "read_p99_ms_idle": round(found.idle.together["p99_ms"], 1),
        "read_p99_ms_loaded": round(found.loaded.together["p99_ms"], 1),
        "visible_p50_ms": round(found.visible.p50_ms),
        "visible_p99_ms": round(found.visible.p99_ms),
        "audit_differences": found.audit_differences,
        "entries": sum(one.ours.entries for one in found.rounds),
        "cpu_us_per_entry": round(median(one.ours.cpu_us for one in found.rounds), 3),
        "redis_cpu_us_per_entry": round(median(one.redis.cpu_us for one in found.rounds), 3),
        "redis_entries_per_s": round(median(one.redis.rate for one in found.rounds)),
        "ratio_to_redis_server": round(bare_ratio, 1),
        "bootstrap_edges_per_s": round(found.bootstrap.rows / found.bootstrap.seconds),
        "bytes_per_timeline_in_all": round(memory.total),
        "redis_bytes_per_timeline": found.redis_bytes,
        "cpu_us_per_entry_by_followers": {str(n): round(burst.cpu_us, 3) for n, burst in found.growth.items()},
        "read_p50_ms_idle": round(found.idle.together["p50_ms"], 1),
        "read_p50_ms_loaded": round(found.loaded.together["p50_ms"], 1),
        "entries_per_s_while_read": round(found.loaded_burst.rate),
        "visible_from_tables_p50_ms": round(found.visible_tables.p50_ms),
        "visible_from_tables_p99_ms": round(found.visible_tables.p99_ms),
        "flat_from_followers": flat_from(found.growth),
        "batch_cpu_ms": round(found.push.empty_cpu_s * 1000),
        "push_us_per_follower": round(found.push.us_per_follower, 3),
        "merge_us_per_read": round(found.merging.outbox_us, 3),
        "celebrity_followers": star.followers,
        "celebrity_others_p99_ms_before": round(star.before.p99_ms),
        "celebrity_others_p99_ms_while_pushed": round(star.while_pushed.p99_ms),
        "celebrity_others_p99_ms_while_merged": round(star.while_merged.p99_ms),
        "wrong_pages": found.wrong_pages,
    }


def print_rates(found: Figures, rate: float, ratio: float, bare_ratio: float) -> None:
    edges = found.bootstrap
    print(f"bootstrap: {edges.rows:,} follows in {edges.seconds:.1f} s, {edges.rows / edges.seconds:,.0f} per second")
    print(f"{'':>26} {'entries/s':>11} {'CPU µs per entry':>17}: {'JVM':>6} {'Python':>7} {'service':>8} {'broker':>7}")
    for number, one in enumerate(found.rounds, 1):
        print_burst(f"round {number}, {one.ours.entries / 1e6:.1f}M entries", one.ours)
        for name, theirs in (("redis-py", one.redis), ("Redis, bare", one.bare)):
            parts = f"server {theirs.server_cpu_s / theirs.entries * 1e6:.2f}"
            print(f"{name:>26} {theirs.rate:>11,.0f} {theirs.cpu_us:>17.3f}: {parts}")
    print(f"entries/s: {rate:,.0f}; {ratio:.1f} times redis-py, {bare_ratio:.1f} times the bare server")
    memory = found.memory
    print(
        f"a full timeline: {memory.inbox:,.0f} bytes, and {memory.followees:,.0f} for whom its user follows and"
        f" {memory.posts:,.0f} for the posts ({memory.entries:.0f} entries); Redis's sorted set {found.redis_bytes:,}"
    )


def print_burst(name: str, burst: Burst) -> None:
    parts = (burst.cpu.jvm, burst.cpu.python, burst.cpu.service, burst.cpu.broker)
    jvm, python, service, broker = (part / max(burst.entries, 1) * 1e6 for part in parts)
    of_parts = f"{jvm:>6.3f} {python:>7.3f} {service:>8.3f} {broker:>7.3f}"
    print(f"{name:>26} {burst.rate:>11,.0f} {burst.cpu_us:>17.3f}: {of_parts}")


def print_growth(found: Figures) -> None:
    for followers, burst in found.growth.items():
        print_burst(f"{followers:,} followers", burst)
    print(
        f"an entry costs {growth_pct(found.growth):.0f} % more with {max(found.growth):,} followers than where it is"
        f" cheapest; at most 20 % more than there from so many followers on: {flat_from(found.growth)}"
    )
    print(f"a micro-batch costs {found.push.empty_cpu_s * 1000:.0f} ms of CPU whatever it holds")


def print_reads(found: Figures) -> None:
    for name, reads in (("nothing else to do", found.idle), ("full write load", found.loaded)):
        for callers, one in (("1 caller", reads.alone), ("8 callers", reads.together)):
            print(
                f"GetTimeline, {name}, {callers}: p50 {one['p50_ms']:.1f} ms, p99 {one['p99_ms']:.1f} ms,"
                f" {one['per_s']:,.0f} per second"
            )
    print(f"meanwhile {found.loaded_burst.rate:,.0f} entries/s")


def print_visible(found: Figures) -> None:
    for name, one in (("Publish", found.visible), ("the tables' topic", found.visible_tables)):
        print(
            f"from {name} to a subscriber: p50 {one.p50_ms:.0f} ms, p99 {one.p99_ms:.0f} ms of {len(one.latencies_ms)}"
        )
        phases = ", ".join(f"{phase} {took:.0f}" for phase, took in one.phases_ms.items())
        print(f"  the join's batches meanwhile, ms: {phases}")


def print_merging(found: Figures) -> None:
    push, merge = found.push.us_per_follower, found.merging.outbox_us
    print(
        f"to write a post to a follower costs {push:.2f} µs, to merge an author's posts {merge:.2f} µs per read:"
        f" merging costs less where followers read less than {push / max(merge, 1e-9):.2f} times per post"
    )
    for reads in READS_PER_S:
        followers = merge_from(push, merge, reads * SECONDS_BETWEEN_POSTS)
        print(f"  a post per hour, {reads:,} reads per second by followers: merge from {followers:,.0f} followers on")


def print_celebrity(found: Figures) -> None:
    star = found.celebrity
    print(f"{star.bootstrap.rows:,} follows of one author: {star.bootstrap.seconds:.1f} s; others' posts:")
    for name, one in (
        ("before", star.before),
        (f"while {max(found.growth):,} followers are written to every second", star.while_pushed),
        (f"while one with {star.followers:,} posts, deletes, gains and loses followers", star.while_merged),
    ):
        print(f"  {name}: p50 {one.p50_ms:.0f} ms, p99 {one.p99_ms:.0f} ms, at most {one.max_ms:.0f} ms")
