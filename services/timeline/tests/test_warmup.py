from __future__ import annotations

from typing import Any

from penstock.timelines.store import reading, steps
from penstock.timelines.warmup import warm_up


def test_what_readers_and_deliveries_need_is_compiled_then() -> None:
    warm_up()
    compiled: list[Any] = [reading.read, reading.refilling, reading.newest_stamp, steps.spread, steps.withdraw]
    assert all(function.signatures for function in compiled)
