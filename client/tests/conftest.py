from __future__ import annotations

from collections.abc import Iterator

import pytest
from penstock.client.testing import FakeIngest, FakeTables, FakeTimelines


@pytest.fixture
def fake() -> Iterator[FakeIngest]:
    with FakeIngest(types=frozenset({"page.viewed", "post.created"})) as fake:
        yield fake


@pytest.fixture
def fake_tables() -> Iterator[FakeTables]:
    with FakeTables("profiles", "follows") as fake:
        yield fake


@pytest.fixture
def fake_timelines() -> Iterator[FakeTimelines]:
    with FakeTimelines() as fake:
        yield fake


@pytest.fixture
def impatient_timelines() -> Iterator[FakeTimelines]:
    """Answers long before a caller would give up."""
    with FakeTimelines(patience_s=0.05) as fake:
        yield fake
