import json
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

KEYS = [
    "entries_per_s",
    "ratio_to_redis",
    "bytes_per_timeline",
    "growth_pct",
    "read_p99_ms_idle",
    "read_p99_ms_loaded",
    "visible_p50_ms",
    "visible_p99_ms",
    "audit_differences",
]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    names = ("celebrity", "course", "cpu", "growth", "merge", "redis", "report", "visible")
    return {name: import_module(f"timeline_{name}") for name in names}


def test_the_last_line_has_what_the_benchmark_promises(
    bench: dict[str, ModuleType], capsys: pytest.CaptureFixture[str]
) -> None:
    report = bench["report"]

    def burst(entries: int, seconds: float, cpu_s: float) -> object:
        return bench["course"].Burst(1_000, entries, seconds, bench["cpu"].Cpu(cpu_s, 0.0, 0.0, 0.0))

    def visible(*latencies_ms: float) -> object:
        return bench["visible"].Visible(list(latencies_ms), {"addBatch": 300.0})

    # Between the rounds the machine became ten times as slow, for both.
    fan_out = bench["redis"].FanOut
    rounds = [
        report.Round(burst(10_000, 1.0, 0.5), fan_out(100, 0.1, 0.01, 0.02), fan_out(100, 0.05, 0.01, 0.01)),
        report.Round(burst(10_000, 10.0, 0.5), fan_out(100, 1.0, 0.01, 0.02), fan_out(100, 0.5, 0.01, 0.01)),
    ]
    latency = {"p50_ms": 1.0, "p99_ms": 2.0, "per_s": 3.0}
    reads = report.Reads(latency, latency | {"p99_ms": 4.0})
    growth = {10: burst(100, 1.0, 8e-4), 100: burst(100, 1.0, 1e-4), 1_000: burst(100, 1.0, 1.1e-4)}
    figures = report.Figures(
        users=1_000,
        bootstrap=burst(0, 2.0, 1.0),
        rounds=rounds,
        idle=reads,
        loaded=reads,
        loaded_burst=burst(500, 1.0, 1.0),
        visible=visible(700.0, 800.0, 900.0),
        visible_tables=visible(600.0),
        growth=growth,
        push=bench["growth"].Push(0.3, 0.5, 1_000),
        memory=bench["growth"].Memory(5_000.0, 4_100.0, 200.0, 700.0, 850.0),
        redis_bytes=90_000,
        merging=bench["merge"].Merging(5.0, 0.5),
        celebrity=bench["celebrity"].Celebrity(
            10_000, burst(0, 1.0, 1.0), visible(500.0), visible(600.0), visible(700.0), 9
        ),
        audited_users=1_000,
        audit_differences=0,
        wrong_pages=0,
    )
    found = report.report(figures)
    assert list(found)[: len(KEYS)] == KEYS
    assert found["entries_per_s"] == 5_500
    assert (found["ratio_to_redis"], found["ratio_to_redis_server"]) == (10.0, 5.0)
    assert found["growth_pct"] == pytest.approx(10.0)
    assert (found["flat_from_followers"], found["push_us_per_follower"]) == (100, 200.0)
    assert (found["visible_p50_ms"], found["visible_p99_ms"]) == (800, 900)
    assert found["bytes_per_timeline"] == 4_100
    assert json.loads(json.dumps(found)) == found
    text = capsys.readouterr().out
    assert "1,000 timelines compared with the tables' logs, 0 differ" in text
    assert "addBatch 300" in text


def test_merging_pays_from_more_followers_on_the_more_they_read(bench: dict[str, ModuleType]) -> None:
    merge_from = bench["report"].merge_from
    assert merge_from(push_us=0.5, merge_us=1.0, reads_between_posts=1_000) == 2_000
    assert merge_from(push_us=0.5, merge_us=1.0, reads_between_posts=2_000) == 4_000
