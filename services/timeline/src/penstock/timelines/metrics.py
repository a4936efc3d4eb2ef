"""Every metric that the timeline service exports. Labels are bounded: partitions, replicas, names in our code."""

from __future__ import annotations

from penstock.serving.calls import CallMetrics
from penstock.serving.pool import Pool
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

FRESHNESS_S = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
SNAPSHOT_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._pool = Pool()
        self.flush = self._pool.flush
        self.calls = CallMetrics(registry, self._pool)
        self._deliveries(registry)
        self._content(registry)
        self._readers(registry)
        self._refills(registry)
        self._snapshots(registry)

    def _deliveries(self, registry: CollectorRegistry) -> None:
        self.deliveries = Counter(
            "penstock_timeline_deliveries",
            "Records of timeline.deliveries.v1 by what became of them: applied, or dropped because they had been"
            " applied (the join ran a batch again, harmless) or are of a former life of the join (if it goes on, two"
            " joins run: end the older one).",
            ("outcome",),
            registry=registry,
        )
        self.entries = Counter(
            "penstock_timeline_entries",
            "Entries that entered (added) or left (removed) inboxes and outboxes.",
            ("change",),
            registry=registry,
        )
        self.lag_records = Gauge(
            "penstock_timeline_lag_records",
            "Deliveries of a partition not applied yet. A rise: more comes than this replica applies, or it stalls.",
            ("partition",),
            registry=registry,
        )
        self.lag_seconds = Gauge(
            "penstock_timeline_lag_seconds",
            "How long ago the delivery applied last was written; 0 when nothing is left to apply.",
            ("partition",),
            registry=registry,
        )
        self.freshness_seconds = Histogram(
            "penstock_timeline_freshness_seconds",
            "From a delivery's writing to Kafka until readers see it. A rise: this replica is behind or too busy.",
            buckets=FRESHNESS_S,
            registry=registry,
        )
        self.load_records = Gauge(
            "penstock_timeline_load_records",
            "Deliveries to apply at the start before anything is served: total, and done so far.",
            ("state",),
            registry=registry,
        )

    def _content(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, about: str) -> Gauge:
            return Gauge(f"penstock_timeline_{name}", about, ("partition",), registry=registry)

        self.users = gauge("users", "Users known to a partition.")
        self.inbox_entries = gauge("inbox_entries", "Entries in all inboxes and outboxes of a partition.")
        self.posts = gauge("posts", "Posts that a partition's entries refer to.")
        self.bytes = gauge("bytes", "Memory of a partition's inboxes. A snapshot takes as much again while it is made.")

    def _readers(self, registry: CollectorRegistry) -> None:
        self.subscribers = Gauge(
            "penstock_timeline_subscribers",
            "Subscriptions under way, those for other replicas' users included. Near SUBSCRIBERS_MAX new ones are"
            " refused.",
            registry=registry,
        )
        self.changes_told = Counter(
            "penstock_timeline_changes_told",
            "Changes sent to subscribers: added, removed, heartbeat.",
            ("change",),
            registry=registry,
        )
        self.slow_readers = Counter(
            "penstock_timeline_slow_readers",
            "Subscriptions that were ended because the reader did not take what happened. It can resume; a rise means"
            " clients or networks that are too slow for their timelines.",
            registry=registry,
        )
        self.forwarded = Counter(
            "penstock_timeline_forwarded",
            "Calls passed on to the replica that has the user, by how they ended. Not OK: look at that replica.",
            ("replica", "grpc_code"),
            registry=registry,
        )

    def _refills(self, registry: CollectorRegistry) -> None:
        self.refilling = Gauge(
            "penstock_timeline_refilling",
            "Inboxes of a partition that wait for older posts. Should come and go; if it only rises, the join is away.",
            ("partition",),
            registry=registry,
        )
        self.refills_outstanding = Gauge(
            "penstock_timeline_refills_outstanding",
            "Refills asked for and not answered yet. At REFILLS_MAX others wait.",
            registry=registry,
        )
        self.refills = Counter(
            "penstock_timeline_refills",
            "Refills: asked, answered, again (no answer in time: the join is away or slow), failed (Kafka did not take"
            " the request; it is sent again).",
            ("outcome",),
            registry=registry,
        )

    def _snapshots(self, registry: CollectorRegistry) -> None:
        self.snapshots = Counter(
            "penstock_timeline_snapshots",
            "Snapshots: written, failed (see the log: disk full?), refused at the start (damaged or of something else:"
            " the one before or the log was read instead).",
            ("outcome",),
            registry=registry,
        )
        self.snapshot_seconds = Histogram(
            "penstock_timeline_snapshot_seconds",
            "Time to write one snapshot, beside reads and deliveries.",
            buckets=SNAPSHOT_S,
            registry=registry,
        )
        self.snapshot_offset = Gauge(
            "penstock_timeline_snapshot_offset",
            "Where a replay would begin. If it stands still while deliveries come, the log's retention will pass it.",
            ("partition",),
            registry=registry,
        )
