from __future__ import annotations

import pytest
from penstock.ingestion.gate import Gate, Limits
from penstock.pipeline import load

SMALL = Limits(
    events_max=50,
    attributes_max=4,
    attribute_name_bytes_max=10,
    attribute_value_bytes_max=20,
    data_bytes_max=30,
    request_bytes_max=20_000,
)


@pytest.fixture(scope="session")
def gate() -> Gate:
    """The social pipeline behind small limits."""
    return Gate(load(), SMALL)
