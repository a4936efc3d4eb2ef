"""For tests of code that uses penstock: its services in memory, and what any ingestion service must do."""

from penstock.client.testing.fake import FakeIngest
from penstock.client.testing.fake_tables import FakeTables

__all__ = ["FakeIngest", "FakeTables"]
