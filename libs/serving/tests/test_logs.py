from __future__ import annotations

import logging

import pytest
from penstock.serving import logs
from penstock.serving.logs import Repeats


def record(text: str, level: int = logging.WARNING) -> logging.LogRecord:
    return logging.LogRecord("rdkafka", level, "", 0, text, (), None)


def test_what_repeats_itself_is_said_once_and_counted_later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(logs, "monotonic", lambda: now)
    repeats = Repeats(again_after_s=30)
    assert repeats.filter(record("broker 1: refused after 3 ms"))
    assert not repeats.filter(record("broker 1: refused after 17 ms"))
    assert not repeats.filter(record("broker 2: refused after 1 ms"))
    assert repeats.filter(record("another thing"))
    now = 31.0
    again = record("broker 1: refused after 5 ms")
    assert repeats.filter(again)
    assert again.getMessage() == "broker 1: refused after 5 ms (and 2 like it since)"


def test_what_is_no_warning_always_passes() -> None:
    repeats = Repeats()
    assert all(repeats.filter(record("serving", logging.INFO)) for _ in range(3))
