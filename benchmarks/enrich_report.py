"""What bench-enrich found, for people and as one JSON object.

In:  races, look-ups and memory. Out: a table on standard output, and the figures for the last line.
Figures are medians over rounds; a ratio is the median of the ratios within each round, which noise changes less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import TypedDict

from enrich_race import Race


class Latency(TypedDict):
    p50_ms: float
    p99_ms: float
    per_s: float


@dataclass(frozen=True)
class Lookups:
    """By one caller alone, and by eight together."""

    alone: Latency
    together: Latency


@dataclass(frozen=True)
class Figures:
    """Races by shape: ours and Quix's of each round. `memory` is table_memory's."""

    races: dict[str, list[tuple[Race, Race]]]
    idle: Lookups
    loaded: Lookups
    memory: dict[str, float]
    wrong: int
    wrong_of_quix: int


@dataclass(frozen=True)
class Shape:
    """Medians of one shape."""

    rate: float
    cpu_us: float
    broker_cpu_us: float
    quix_rate: float
    quix_cpu_us: float
    quix_broker_cpu_us: float
    ratio: float
    cpu_ratio: float


def middle(races: list[tuple[Race, Race]]) -> Shape:
    def of(figure: Callable[[Race, Race], float]) -> float:
        return median(figure(ours, quix) for ours, quix in races)

    return Shape(
        rate=of(lambda ours, _: ours.rate),
        cpu_us=of(lambda ours, _: ours.cpu_us),
        broker_cpu_us=of(lambda ours, _: ours.broker_cpu_us),
        quix_rate=of(lambda _, quix: quix.rate),
        quix_cpu_us=of(lambda _, quix: quix.cpu_us),
        quix_broker_cpu_us=of(lambda _, quix: quix.broker_cpu_us),
        ratio=of(lambda ours, quix: ours.rate / quix.rate),
        cpu_ratio=of(lambda ours, quix: quix.cpu_us / ours.cpu_us),
    )


def report(figures: Figures) -> dict[str, object]:
    shapes = {name: middle(races) for name, races in figures.races.items()}
    print(f"{'':>26} {'events/s':>10} {'CPU µs per event':>17} {'of the broker':>14} {'events/s per core':>18}")
    for name, one in shapes.items():
        row(f"{name}, enrichment", one.rate, one.cpu_us, one.broker_cpu_us)
        row(f"{name}, Quix", one.quix_rate, one.quix_cpu_us, one.quix_broker_cpu_us)
        print(f"{'ratio':>26} {one.ratio:>10.2f} {one.cpu_ratio:>17.2f}")
    print(f"{'look-ups':>26} {'p50 ms':>10} {'p99 ms':>10} {'per s':>10}")
    for load, lookups in (("idle", figures.idle), ("under write load", figures.loaded)):
        for callers, latency in (("1 caller", lookups.alone), ("8 callers", lookups.together)):
            name = f"{load}, {callers}"
            print(f"{name:>26} {latency['p50_ms']:>10.1f} {latency['p99_ms']:>10.1f} {latency['per_s']:>10,.0f}")
    print(f"wrong: {figures.wrong}; of Quix: {figures.wrong_of_quix}")
    return summary(figures, shapes["views"], shapes["posts"])


def row(name: str, rate: float, cpu_us: float, broker_cpu_us: float) -> None:
    print(f"{name:>26} {rate:>10,.0f} {cpu_us:>17.1f} {broker_cpu_us:>14.1f} {1e6 / cpu_us:>18,.0f}")


def summary(figures: Figures, views: Shape, posts: Shape) -> dict[str, object]:
    loaded = figures.loaded
    return {
        "events_per_s": round(views.rate),
        "ratio_to_quix": round(views.ratio, 2),
        "cpu_us_per_event": round(views.cpu_us, 2),
        "bytes_per_row": round(figures.memory["bytes_per_row"]),
        "ratio_to_dict_memory": round(figures.memory["ratio_to_dict_memory"], 1),
        "lookup_p99_ms": round(loaded.together["p99_ms"], 1),
        "wrong": figures.wrong,
        "events_per_s_per_core": round(1e6 / views.cpu_us),
        "cpu_ratio_to_quix": round(views.cpu_ratio, 2),
        "quix_events_per_s": round(views.quix_rate),
        "quix_cpu_us_per_event": round(views.quix_cpu_us, 2),
        "broker_cpu_us_per_event": round(views.broker_cpu_us, 2),
        "posts_events_per_s": round(posts.rate),
        "posts_ratio_to_quix": round(posts.ratio, 2),
        "posts_cpu_us_per_event": round(posts.cpu_us, 2),
        "posts_cpu_ratio_to_quix": round(posts.cpu_ratio, 2),
        "lookup_p50_ms": round(loaded.together["p50_ms"], 1),
        "lookup_p50_ms_one_caller": round(loaded.alone["p50_ms"], 1),
        "lookup_p99_ms_one_caller": round(loaded.alone["p99_ms"], 1),
        "lookup_p99_ms_idle": round(figures.idle.together["p99_ms"], 1),
        "wrong_of_quix": figures.wrong_of_quix,
    }
