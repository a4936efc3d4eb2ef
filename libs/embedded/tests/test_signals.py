import os
import signal
from threading import Event

import pytest
from penstock.embedded.signals import SIGNALS, stop_on_signals


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_becomes_a_call(number: signal.Signals) -> None:
    called = Event()
    before = signal.getsignal(number)
    with stop_on_signals(called.set):
        os.kill(os.getpid(), number)
        assert called.wait(60)
    assert signal.getsignal(number) is before


def test_every_signal_is_a_call_of_its_own() -> None:
    calls: list[int] = []
    with stop_on_signals(lambda: calls.append(1)):
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
    assert len(calls) == 2
