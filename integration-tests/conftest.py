"""The services as a user runs them: processes of their own, seen from outside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from penstock.embedded.broker import Kafka
from penstock.embedded.services import start_ingestion
from penstock.embedded.supervisor import Supervisor
from running_stack import Ingestion, RawLog


@pytest.fixture
def ingestion(kafka: Kafka, topic_prefix: str, tmp_path: Path) -> Iterator[Ingestion]:
    """Two workers, so that nothing can rely on there being one."""
    with Supervisor(tmp_path / "stack") as supervisor:
        environment = {"PENSTOCK_TOPIC_PREFIX": topic_prefix}
        service = start_ingestion(supervisor, kafka.bootstrap, workers=2, environment=environment)
        yield Ingestion(service, RawLog(kafka.bootstrap, topic_prefix), supervisor)
