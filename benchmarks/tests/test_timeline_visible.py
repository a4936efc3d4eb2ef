from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from penstock.pipeline import loads
from penstock.timelines.store import Partition
from prometheus_client import CollectorRegistry, Gauge, start_http_server


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    return {name: import_module(f"timeline_{name}") for name in ("course", "merge", "visible")}


def test_phases_of_a_batch_are_read_from_the_jobs_metrics(bench: dict[str, ModuleType]) -> None:
    registry = CollectorRegistry()
    phases = Gauge("penstock_jobs_batch_phase_seconds", "about", ("query", "phase"), registry=registry)
    phases.labels("timelines", "addBatch").set(0.25)
    phases.labels("timelines", "walCommit").set(0.05)
    Gauge("penstock_jobs_batch_phase_seconds_other", "about", registry=registry).set(9)
    server, thread = start_http_server(0, "127.0.0.1", registry)
    try:
        found = bench["visible"].batch_phases(f"http://127.0.0.1:{server.server_port}/metrics")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert found == {"addBatch": 250.0, "walCommit": 50.0}


def test_a_batch_that_was_looked_at_twice_counts_once(bench: dict[str, ModuleType]) -> None:
    means = bench["visible"].means
    assert means([{"a": 1.0}, {"a": 1.0}, {}, {"a": 3.0, "b": 4.0}]) == {"a": 2.0, "b": 2.0}


def test_percentiles_are_of_the_latencies(bench: dict[str, ModuleType]) -> None:
    visible = bench["visible"].Visible([float(number) for number in range(100, 0, -1)], {})
    assert (visible.p50_ms, visible.p99_ms, visible.max_ms) == (51.0, 100.0, 100.0)


def test_the_pipeline_is_the_default_one_but_for_when_readers_merge(bench: dict[str, ModuleType]) -> None:
    timeline = loads(bench["course"].pipeline_text(77), "bench").timeline
    assert timeline is not None
    assert (timeline.merge_at_read_above, timeline.capacity) == (77, 800)


def test_what_is_merged_is_there(bench: dict[str, ModuleType]) -> None:
    partition, readers = bench["merge"].filled()
    assert isinstance(partition, Partition)
    for outboxes, reader in readers.items():
        page = partition.page(reader, None, newer=False, limit=bench["merge"].CAPACITY)
        writers = {partition.place(int(slot)).author for slot in page.slots}
        assert len(page.slots) == bench["merge"].CAPACITY
        assert len({writer for writer in writers if writer.startswith("star")}) == outboxes
