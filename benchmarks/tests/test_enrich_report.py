import json
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    return import_module("enrich_report"), import_module("enrich_race")


def test_a_ratio_is_the_median_of_those_within_a_round(
    modules: tuple[ModuleType, ModuleType], capsys: pytest.CaptureFixture[str]
) -> None:
    report, race = modules
    # Between the rounds the machine became ten times as slow, for both.
    rounds = [
        (race.Race(1_000, 1.0, 0.5, 0.1), race.Race(100, 0.5, 0.2, 0.1)),
        (race.Race(1_000, 10.0, 0.5, 0.1), race.Race(100, 5.0, 0.2, 0.1)),
    ]
    latency = {"p50_ms": 1.0, "p99_ms": 2.0, "per_s": 3.0}
    lookups = report.Lookups(alone=latency, together=latency | {"p99_ms": 4.0})
    memory = {"bytes_per_row": 100.4, "ratio_to_dict_memory": 7.25}
    found = report.report(report.Figures({"views": rounds, "posts": rounds}, lookups, lookups, memory, 0, 0))
    assert found["ratio_to_quix"] == 5.0
    assert found["cpu_ratio_to_quix"] == 4.0
    assert (found["events_per_s"], found["cpu_us_per_event"], found["events_per_s_per_core"]) == (550, 500.0, 2_000)
    assert list(found)[:7] == [
        "events_per_s",
        "ratio_to_quix",
        "cpu_us_per_event",
        "bytes_per_row",
        "ratio_to_dict_memory",
        "lookup_p99_ms",
        "wrong",
    ]
    assert found["lookup_p99_ms"] == 4.0
    assert json.loads(json.dumps(found)) == found
    assert "wrong: 0; of Quix: 0" in capsys.readouterr().out
