from __future__ import annotations

from typing import Any

import pytest
from penstock.client.settings import PublisherSettings


def test_all_faults_are_listed_at_once() -> None:
    wrong: dict[str, Any] = {"batch_events_max": 0, "linger_s": -1, "when_full": "panic", "retry_max_s": 0.01}
    with pytest.raises(ValueError) as error:
        PublisherSettings(**wrong)
    for fault in ("batch_events_max must be above 0, not 0", "linger_s must not be below 0", "panic", "retry_max_s"):
        assert fault in str(error.value)


def test_buffer_holds_a_batch() -> None:
    with pytest.raises(ValueError, match="buffer_bytes_max 10 is below batch_bytes_max 11"):
        PublisherSettings(buffer_bytes_max=10, batch_bytes_max=11)
