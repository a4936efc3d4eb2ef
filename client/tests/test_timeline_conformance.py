"""The fake and the client conform to each other; the real service runs the same suite in integration-tests."""

from __future__ import annotations

import pytest
from penstock.client.testing import FakeTimelines
from penstock.client.testing.subscription_conformance import SubscriptionConformance
from penstock.client.testing.timeline_conformance import TimelineConformance, proxy, scene, timelines

__all__ = ["proxy", "scene", "timelines"]


@pytest.fixture
def timeline_target(fake_timelines: FakeTimelines) -> FakeTimelines:
    return fake_timelines


class TestPages(TimelineConformance):
    pass


class TestSubscriptions(SubscriptionConformance):
    pass
