"""The fake and the publishers conform to each other; the real service runs the same suite in integration-tests."""

from __future__ import annotations

import pytest
from penstock.client.testing import FakeIngest
from penstock.client.testing.conformance import PublisherConformance, device_id, proxy, transport

__all__ = ["device_id", "proxy", "transport"]


@pytest.fixture
def ingest_target(fake: FakeIngest) -> FakeIngest:
    return fake


class TestFake(PublisherConformance):
    pass
