"""For tests of code that publishes: an ingestion service in memory, and what any ingestion service must do."""

from penstock.client.testing.fake import FakeIngest

__all__ = ["FakeIngest"]
