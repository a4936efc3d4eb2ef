"""What Spark tells of its queries, as metrics, and handed to whoever else wants to know.

In:  Spark's progress events, as dicts. Out: metrics; a call per finished batch.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from penstock.jobs.metrics import Metrics
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

OnProgress = Callable[[Mapping[str, Any]], None]


class Listener(StreamingQueryListener):
    """Called by Spark, in a thread of its own."""

    def __init__(self, metrics: Metrics, on_progress: Mapping[str, OnProgress]) -> None:
        self._metrics = metrics
        self._on_progress = on_progress
        self._names: dict[str, str] = {}

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 -- Spark's names, all of these
        self._names[str(event.id)] = event.name or ""
        self._metrics.running.labels(event.name).set(1)
        self._metrics.last_progress.labels(event.name).set(time.time())

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        progress = json.loads(event.progress.json)
        self._metrics.last_progress.labels(progress["name"]).set(time.time())
        tell(self._metrics, progress)
        if (also := self._on_progress.get(progress["name"])) is not None:
            also(progress)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        name = self._names.get(str(event.id), "")
        self._metrics.last_progress.labels(name).set(time.time())
        self._metrics.input_rate.labels(name).set(0)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        self._metrics.running.labels(self._names.get(str(event.id), "")).set(0)


def tell(metrics: Metrics, progress: Mapping[str, Any]) -> None:
    """One finished batch."""
    name = progress["name"]
    metrics.batches.labels(name).inc()
    metrics.rows.labels(name).inc(progress.get("numInputRows", 0))
    metrics.input_rate.labels(name).set(progress.get("inputRowsPerSecond") or 0)
    metrics.processed_rate.labels(name).set(progress.get("processedRowsPerSecond") or 0)
    metrics.batch_seconds.labels(name).observe(progress.get("batchDuration", 0) / 1000)
    for phase, took_ms in progress.get("durationMs", {}).items():
        metrics.phase_seconds.labels(name, phase).set(took_ms / 1000)
    for source in progress.get("sources", ()):
        for topic, behind in offsets_behind(source).items():
            metrics.offsets_behind.labels(name, topic).set(behind)
    if (watermark := progress.get("eventTime", {}).get("watermark")) is not None:
        metrics.watermark.labels(name).set(datetime.fromisoformat(watermark).timestamp())
    operators = progress.get("stateOperators", ())
    metrics.state_rows.labels(name).set(sum(one.get("numRowsTotal", 0) for one in operators))
    metrics.state_bytes.labels(name).set(sum(one.get("memoryUsedBytes", 0) for one in operators))
    observed = progress.get("observedMetrics", {}).get(name, {})
    metrics.entries.labels(name).inc(observed.get("entries") or 0)
    metrics.unreadable.labels(name).inc(observed.get("unreadable") or 0)


def offsets_behind(source: Mapping[str, Any]) -> dict[str, int]:
    """By topic: how far the log's end is ahead of what was read."""
    latest, read = offsets(source.get("latestOffset")), offsets(source.get("endOffset"))
    return {
        topic: sum(max(0, end - read.get(topic, {}).get(number, 0)) for number, end in ends.items())
        for topic, ends in latest.items()
    }


def offsets(value: Any) -> dict[str, dict[int, int]]:
    """Spark's offsets of a Kafka source: by topic and partition, the next to read."""
    parsed = json.loads(value) if isinstance(value, str) else value
    return {topic: {int(number): end for number, end in ends.items()} for topic, ends in (parsed or {}).items()}
