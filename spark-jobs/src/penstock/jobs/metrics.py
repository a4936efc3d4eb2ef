"""Every metric that the jobs export. `query` is one of the jobs' names."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

SECONDS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class Metrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, about: str, *labels: str) -> Gauge:
            return Gauge(f"penstock_jobs_{name}", about, ("query", *labels), registry=registry)

        def counter(name: str, about: str) -> Counter:
            return Counter(f"penstock_jobs_{name}", about, ("query",), registry=registry)

        self.running = gauge("query_running", "1 while the query runs. 0: it has ended; the process ends too.")
        self.last_progress = gauge(
            "last_progress_timestamp_seconds",
            "When the query last finished a batch or found nothing to do. Standing still: it is stuck.",
        )
        self.batches = counter("batches", "Micro-batches finished.")
        self.rows = counter("input_rows", "Records read.")
        self.input_rate = gauge("input_rows_per_second", "Records that arrived per second, in the last batch's time.")
        self.processed_rate = gauge(
            "processed_rows_per_second", "Records processed per second of the last batch. Below the arrivals: it lags."
        )
        self.batch_seconds = Histogram(
            "penstock_jobs_batch_seconds", "Time of a micro-batch.", ("query",), buckets=SECONDS, registry=registry
        )
        self.phase_seconds = gauge("batch_phase_seconds", "Time of the last batch, by Spark's phases.", "phase")
        self.offsets_behind = gauge(
            "offsets_behind", "Records in the log after those of the last batch: growing means that it lags.", "topic"
        )
        self.watermark = gauge("watermark_timestamp_seconds", "Event time up to which windows are closed.")
        self.state_rows = gauge("state_rows", "Entries of the state store.")
        self.state_bytes = gauge("state_bytes", "Memory of the state store.")
        self.entries = counter("entries", "Timeline entries, (post, reader) pairs, that deliveries tell of.")
        self.unreadable = counter(
            "unreadable_records", "Records that could not be understood and were left out. Should never happen."
        )
        self.progress_failures = counter(
            "progress_failures", "Times that the progress could not be told to Kafka: reads with a token wait longer."
        )
