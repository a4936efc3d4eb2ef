"""Turns what happened to a batch into metrics, in a number of steps that does not depend on its size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from penstock.clock import Domain, Estimate, Method
from penstock.events.v1.raw_batch_pb2 import RefusalReason
from penstock.ingestion.gate import Inspection
from penstock.ingestion.ledger import Verdict
from penstock.ingestion.metrics import Metrics

MICROSECONDS = 1_000_000


class Tally:
    def __init__(self, metrics: Metrics, types: Sequence[str]) -> None:
        self._metrics = metrics
        self._types = types
        self._accepted = [metrics.pooled(metrics.events.labels(name, "accepted")) for name in types]
        self._methods = {method: metrics.pooled(metrics.clock_events.labels(method.name)) for method in Method}

    def batch(self, size: int, found: Inspection, estimate: Estimate, verdict: Verdict) -> None:
        """What is known before Kafka answers."""
        self._metrics.batch_bytes.observe(size)
        self._metrics.batch_events.observe(len(found.rows))
        refused = Counter(zip(verdict.refused_types, (refusal.reason for refusal in verdict.refusals), strict=True))
        for (kind, reason), count in refused.items():
            outcome = RefusalReason.Name(reason).removeprefix("REFUSAL_REASON_").lower()
            self._metrics.events.labels(self._types[kind] if kind >= 0 else "unknown", outcome).inc(count)
        if estimate.error_bound_us is not None:
            self._metrics.error_bound_seconds.observe(estimate.error_bound_us / MICROSECONDS)
        if estimate.domain is not None and found.sent.wall_us:
            offset_us = estimate.offset_us
            if estimate.domain is Domain.STEADY and found.sent.steady_us is not None:
                offset_us += found.sent.steady_us - found.sent.wall_us
            self._metrics.correction_seconds.observe(abs(offset_us) / MICROSECONDS)

    def accepted(self, estimate: Estimate, verdict: Verdict) -> None:
        """What Kafka holds."""
        if not verdict.accepted:
            return
        for kind, count in enumerate(verdict.types):
            if count:
                self._accepted[kind].inc(count)
        self._methods[estimate.method].inc(verdict.accepted)
