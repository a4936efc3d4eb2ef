"""The client's conformance suite against the real service; client/tests runs the same suite against its fake."""

from __future__ import annotations

import pytest
from penstock.client.testing.conformance import PublisherConformance, device_id, proxy, transport
from running_stack import Ingestion

__all__ = ["device_id", "proxy", "transport"]


@pytest.fixture
def ingest_target(ingestion: Ingestion) -> Ingestion:
    return ingestion


class TestPublisherOnTheRealService(PublisherConformance):
    """Every promise of the client, kept by ingestion."""
