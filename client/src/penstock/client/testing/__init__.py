"""For tests of code that uses penstock: its services in memory, and what the real ones must do."""

from penstock.client.testing.fake import FakeIngest
from penstock.client.testing.fake_tables import FakeTables
from penstock.client.testing.fake_timelines import FakeTimelines

__all__ = ["FakeIngest", "FakeTables", "FakeTimelines"]
