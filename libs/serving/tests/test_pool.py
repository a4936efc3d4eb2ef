from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from penstock.serving.pool import Pool
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

BOUNDS = (0.5, 1.0, 10.0)


@given(st.lists(st.sampled_from([0.0, 0.5, 0.75, 1.0, 9.0, 10.0, 11.0, 2.0**30]), max_size=40), st.integers(0, 40))
def test_a_pooled_histogram_ends_as_a_plain_one(values: list[float], flush_after: int) -> None:
    registry, plain_registry = CollectorRegistry(), CollectorRegistry()
    pool = Pool()
    pooled = pool.histogram(Histogram("h", "h", buckets=BOUNDS, registry=registry), BOUNDS)
    plain = Histogram("h", "h", buckets=BOUNDS, registry=plain_registry)
    for index, value in enumerate(values):
        pooled.observe(value)
        plain.observe(value)
        if index == flush_after:
            pool.flush()
    pool.flush()
    for name, labels in [("h_sum", {}), ("h_count", {})] + [
        ("h_bucket", {"le": le}) for le in ("0.5", "1.0", "10.0", "+Inf")
    ]:
        assert registry.get_sample_value(name, labels) == plain_registry.get_sample_value(name, labels)


def test_counters_and_gauges_show_after_a_flush_and_only_once() -> None:
    registry, pool = CollectorRegistry(), Pool()
    counter = pool.counter(Counter("c", "c", registry=registry))
    gauge = pool.gauge(Gauge("g", "g", registry=registry))
    counter.inc(3)
    gauge.set(7)
    assert registry.get_sample_value("c_total") == 0
    pool.flush()
    pool.flush()
    assert registry.get_sample_value("c_total") == 3
    assert registry.get_sample_value("g") == 7
