from __future__ import annotations

from penstock.timelines.metrics import Metrics
from prometheus_client import CollectorRegistry, generate_latest


def test_every_metric_says_what_it_means() -> None:
    registry = CollectorRegistry()
    Metrics(registry)
    families = [family for family in registry.collect() if family.name.startswith("penstock_timeline_")]
    assert len(families) > 15
    assert all(len(family.documentation) > 20 for family in families)
    assert b"penstock_timeline_freshness_seconds" in generate_latest(registry)
