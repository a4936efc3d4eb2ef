from __future__ import annotations

from penstock.client.clocks import SystemClocks, read


def test_system_clocks_advance() -> None:
    first, second = read(SystemClocks()), read(SystemClocks())
    assert first.steady_us is not None
    assert second.steady_us is not None
    assert first.steady_us <= second.steady_us
