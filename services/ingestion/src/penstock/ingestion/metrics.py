"""Every metric that ingestion exports.

Labels are bounded: types are those of pipeline.yaml (and "unknown"), the rest are names in our code. The gRPC ones
have the names of go-grpc-middleware, so that existing dashboards work. Workers write to files that the parent adds up.
What every request touches goes through a pool; flush() hands it over.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.ingestion.tokens import TokenRefusal
from penstock.serving.calls import SECONDS, CallMetrics
from penstock.serving.pool import Pool, PooledCounter, PooledGauge, PooledHistogram
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

CLOCK_SECONDS = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 60, 600, 3_600, 86_400, 31_536_000)
BATCH_EVENTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
BATCH_BYTES = tuple(256 * 4**power for power in range(8))


class Metrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        pool = self._pool = Pool()
        self.flush = pool.flush

        def counter(name: str, text: str, labels: Sequence[str] = ()) -> Counter:
            return Counter(name, text, labels, registry=registry)

        def gauge(name: str, text: str) -> PooledGauge:
            return pool.gauge(Gauge(name, text, registry=registry, multiprocess_mode="livesum"))

        def histogram(name: str, text: str, buckets: Sequence[float]) -> PooledHistogram:
            return pool.histogram(Histogram(name, text, buckets=buckets, registry=registry), buckets)

        self.calls = CallMetrics(registry, pool)
        self.events = counter(
            "penstock_ingestion_events",
            "Events by type and outcome: accepted, duplicate, or the reason of refusal. "
            "A rise of refusals after a client's release: it sends what pipeline.yaml does not allow.",
            ("type", "outcome"),
        )
        self.batch_events = histogram("penstock_ingestion_batch_events", "Events per request.", BATCH_EVENTS)
        self.batch_bytes = histogram("penstock_ingestion_batch_bytes", "Bytes per request.", BATCH_BYTES)
        self.produce_seconds = histogram(
            "penstock_ingestion_produce_seconds",
            "Time until Kafka confirmed a record. A rise: look at the brokers.",
            SECONDS,
        )
        self.produce_failures = counter(
            "penstock_ingestion_produce_failures", "Records that Kafka did not take, by librdkafka's error.", ("error",)
        )
        self.inflight_bytes = gauge(
            "penstock_ingestion_inflight_bytes", "Bytes not yet confirmed by Kafka. At the limit, requests are refused."
        )
        self.inflight_bytes_max = gauge("penstock_ingestion_inflight_bytes_max", "The limit of inflight_bytes.")
        self.queue_messages = gauge(
            "penstock_ingestion_producer_queue_messages", "Records in librdkafka's queue. Growing: Kafka is too slow."
        )
        self.requests_refused = counter(
            "penstock_ingestion_requests_refused",
            "Whole requests refused: malformed, full (limit of bytes in flight), log (Kafka did not confirm).",
            ("reason",),
        )
        self.clock_events = counter(
            "penstock_ingestion_clock_events", "Accepted events by how their time was found.", ("method",)
        )
        self.error_bound_seconds = histogram(
            "penstock_ingestion_clock_error_bound_seconds",
            "Bound on the error of a batch's corrected times, where there is one.",
            CLOCK_SECONDS,
        )
        self.correction_seconds = histogram(
            "penstock_ingestion_clock_correction_seconds",
            "How far a batch's wall clock was off, either way: what the correction took away.",
            CLOCK_SECONDS,
        )
        self.clock_sets = counter("penstock_ingestion_clock_sets", "Device clocks that were found to have been set.")
        self.tokens_refused = counter(
            "penstock_ingestion_tokens_refused",
            "Clock tokens ignored, by reason. FORGED or UNKNOWN_KEY on many devices: pods disagree about the keys.",
            ("reason",),
        )

        for reason in ("malformed", "full", "log"):
            self.requests_refused.labels(reason)  # there from the start, or a rate misses the first rise
        for refusal in TokenRefusal:
            self.tokens_refused.labels(refusal.name)

    def pooled(self, counter: Counter) -> PooledCounter:
        """For one child of a counter that every request touches."""
        return self._pool.counter(counter)
