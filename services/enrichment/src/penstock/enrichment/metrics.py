"""Every metric that enrichment exports. Labels are bounded: tables of pipeline.yaml, partitions, names in our code."""

from __future__ import annotations

from penstock.serving.calls import SECONDS, CallMetrics
from penstock.serving.pool import Pool
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class Metrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._pool = Pool()
        self.flush = self._pool.flush
        self.calls = CallMetrics(registry, self._pool)
        self.events = Counter("penstock_enrichment_events", "Events emitted; corrections are not.", registry=registry)
        self.duplicates = Counter(
            "penstock_enrichment_duplicates", "Events dropped because they had been taken before.", registry=registry
        )
        self.rejected = Counter(
            "penstock_enrichment_rejected",
            "Events set aside in events.rejected.v1 (penstock dead-letters list), by reason.",
            ("reason",),
            registry=registry,
        )
        self.joins = Counter(
            "penstock_enrichment_joins",
            "Enrichments by table and what the table had: matched, missing, deleted, history_evicted.",
            ("table", "status"),
            registry=registry,
        )
        self.corrections = Counter(
            "penstock_enrichment_corrections",
            "Events emitted again because a row's version came late. A rise: change data capture is behind.",
            registry=registry,
        )
        self.rows_written = Counter(
            "penstock_enrichment_rows_written", "Changes written to event-sourced tables.", registry=registry
        )
        self.transactions = Counter(
            "penstock_enrichment_transactions",
            "Transactions by outcome. started_over: Kafka was away or somebody else took over.",
            ("step", "outcome"),
            registry=registry,
        )
        self.transaction_seconds = Histogram(
            "penstock_enrichment_transaction_seconds",
            "Time of one round: read, join, write, commit.",
            ("step",),
            buckets=SECONDS,
            registry=registry,
        )
        self.lag_records = Gauge(
            "penstock_enrichment_lag_records",
            "Records of a partition not read yet.",
            ("topic", "partition"),
            registry=registry,
        )
        self.lag_seconds = Gauge(
            "penstock_enrichment_lag_seconds",
            "How long ago the batch joined last had been received; 0 when nothing is left to read.",
            registry=registry,
        )
        self.table_rows = Gauge("penstock_enrichment_table_rows", "Rows that exist.", ("table",), registry=registry)
        self.table_versions = Gauge(
            "penstock_enrichment_table_versions", "Versions kept.", ("table",), registry=registry
        )
        self.table_bytes = Gauge("penstock_enrichment_table_bytes", "Memory of a table.", ("table",), registry=registry)
        self.tables_lag = Gauge(
            "penstock_enrichment_tables_lag_records", "Changes of tables not applied yet.", registry=registry
        )
        self.load_records = Gauge(
            "penstock_enrichment_load_records", "Records to load at the start.", ("state",), registry=registry
        )
        self.horizon_events = Gauge(
            "penstock_enrichment_horizon_events", "Events that can still be corrected.", registry=registry
        )
        self.horizon_events_max = Gauge(
            "penstock_enrichment_horizon_events_max", "The limit of horizon_events.", registry=registry
        )
        self.horizon_evicted = Gauge(
            "penstock_enrichment_horizon_evicted",
            "Events that left the horizon before their time because it was full: they cannot be corrected.",
            registry=registry,
        )
        self.intake = Counter(
            "penstock_enrichment_intake_records",
            "Records of change data capture by what became of them, and what was odd about them: column_unknown (the"
            " source did not give it and nobody knows it), column_absent (pipeline.yaml names it, the record lacks it),"
            " time_raised (the database's clock ran backwards), log_restarted (another server's log).",
            ("table", "outcome"),
            registry=registry,
        )
        self.unreadable = Counter(
            "penstock_enrichment_unreadable_changes",
            "Records of a table's log that are no row changes and were skipped. Should never happen: look at the log.",
            ("table",),
            registry=registry,
        )
        self.snapshots = Counter(
            "penstock_enrichment_snapshots",
            "Snapshots of tables: written, or refused at the start (the log was read instead).",
            ("table", "outcome"),
            registry=registry,
        )
