"""The Spark application as a process: what it says of itself, and how it ends."""

from __future__ import annotations

from pathlib import Path
from urllib.request import urlopen

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from enrichment_stack import PATIENCE_S, until
from penstock.embedded.broker import Kafka
from penstock.embedded.errors import ChildDiedError
from penstock.embedded.jobs import Jobs
from timeline_deaths import batches
from timeline_ledger import TablesWriter, TimelineLedger
from timeline_stack import SHARDS, TimelineStack, pipeline, timeline_stack

PIPELINE = pipeline(capacity=10, slack=4, merge_at_read_above=100)


def sample(jobs: Jobs, name: str) -> float:
    with urlopen(jobs.metrics, timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"penstock_jobs_{name}"))


def live_on(stack: TimelineStack, name: str) -> None:
    """Raises when it dies, be it while it starts."""
    stack.supervisor.restart(name)
    stack.supervisor.wait(PATIENCE_S)


@pytest.mark.timeout(600)
def test_it_tells_of_its_work_stops_when_asked_and_dies_of_a_query_that_cannot_go_on(
    kafka: Kafka, topic_prefix: str, tmp_path: Path
) -> None:
    with timeline_stack(kafka.bootstrap, topic_prefix, PIPELINE, tmp_path) as stack:
        jobs = stack.start_join()
        ledger = TimelineLedger(TablesWriter(kafka.bootstrap, topic_prefix, SHARDS), seed=1)
        with ledger.written():
            ledger.grows(by=300)
            until(lambda: batches(jobs) > 0)
        until(lambda: sample(jobs, "input_rows_total") >= len(ledger.changes))
        assert sample(jobs, "entries_total") > 0
        assert sample(jobs, "unreadable_records_total") == 0
        assert sample(jobs, "state_rows") > 0

        # Idle is not stuck: without a single record more, it says that it lives.
        seen = sample(jobs, "last_progress_timestamp_seconds")
        until(lambda: sample(jobs, "last_progress_timestamp_seconds") > seen)

        # What it must read next is deleted from the log while it is away: that must not pass in silence.
        assert stack.supervisor.end(jobs.name) == 0
        with ledger.written():
            ledger.grows(by=300)
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        gone = [TopicPartition(f"{topic_prefix}tables.follows.v1", number, -1) for number in range(SHARDS)]
        for deleted in admin.delete_records(gone).values():
            deleted.result(30)
        with pytest.raises(ChildDiedError) as died:
            live_on(stack, jobs.name)
        assert died.value.exit_code == 1
        assert "the query timelines ended" in stack.supervisor.log(jobs.name).read_text()
