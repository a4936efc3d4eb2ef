from __future__ import annotations

from collections.abc import Iterator

import pytest
from penstock.client.testing import FakeIngest


@pytest.fixture
def fake() -> Iterator[FakeIngest]:
    with FakeIngest(types=frozenset({"page.viewed", "post.created"})) as fake:
        yield fake
