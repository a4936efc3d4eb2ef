import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from penstock.embedded.child import Child, Probe, at_once
from penstock.embedded.supervisor import Supervisor

MakeChild = Callable[..., Child]


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with Supervisor(tmp_path / "state") as started:
        yield started


@pytest.fixture
def python_child() -> MakeChild:
    """A child that runs a few lines of Python, for what a broker would be too slow to show."""

    def make(
        name: str,
        program: str,
        ready: Probe = at_once,
        *,
        ready_timeout_s: float = 60.0,
        stop_grace_s: float = 15.0,
    ) -> Child:
        command = (sys.executable, "-I", "-S", "-c", program)
        return Child(name, command, ready, ready_timeout_s=ready_timeout_s, stop_grace_s=stop_grace_s)

    return make
