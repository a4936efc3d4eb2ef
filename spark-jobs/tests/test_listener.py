from __future__ import annotations

import json

from penstock.jobs.listener import offsets_behind, tell
from penstock.jobs.metrics import Metrics
from prometheus_client import CollectorRegistry

# As Spark 4.2 tells it, shortened.
PROGRESS = {
    "name": "timelines",
    "batchId": 7,
    "numInputRows": 12,
    "inputRowsPerSecond": 100.5,
    "processedRowsPerSecond": 20.0,
    "batchDuration": 600,
    "durationMs": {"addBatch": 400, "triggerExecution": 600},
    "stateOperators": [{"numRowsTotal": 5, "memoryUsedBytes": 1000}, {"numRowsTotal": 1, "memoryUsedBytes": 24}],
    "sources": [
        {
            "endOffset": json.dumps({"tables.posts.v1": {"0": 10, "1": 4}}),
            "latestOffset": {"tables.posts.v1": {"0": 15, "1": 4}},
        }
    ],
    "eventTime": {"watermark": "1970-01-01T00:01:00.000Z"},
    "observedMetrics": {"timelines": {"entries": 99, "unreadable": 2}},
}


def sample(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(f"penstock_jobs_{name}", {"query": "timelines", **labels})


def test_that_a_batch_is_told_in_metrics() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    tell(metrics, PROGRESS)
    tell(metrics, PROGRESS)
    assert sample(registry, "batches_total") == 2
    assert sample(registry, "input_rows_total") == 24
    assert sample(registry, "entries_total") == 198
    assert sample(registry, "unreadable_records_total") == 4
    assert sample(registry, "batch_phase_seconds", phase="addBatch") == 0.4
    assert sample(registry, "offsets_behind", topic="tables.posts.v1") == 5
    assert sample(registry, "state_rows") == 6
    assert sample(registry, "state_bytes") == 1024
    assert sample(registry, "watermark_timestamp_seconds") == 60
    assert sample(registry, "batch_seconds_sum") == 1.2


def test_that_a_batch_without_input_is_no_fault() -> None:
    registry = CollectorRegistry()
    tell(Metrics(registry), {"name": "timelines", "observedMetrics": {"timelines": {"entries": None}}})
    assert sample(registry, "entries_total") == 0


def test_that_a_source_that_tells_nothing_is_not_behind() -> None:
    assert offsets_behind({"endOffset": None, "latestOffset": None}) == {}
