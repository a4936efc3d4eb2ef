"""`make demo` as people without a terminal see it: the whole stack, devices, summary, and nothing left behind."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

LEFT_BEHIND = "penstock-demo-*"


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Where the demo keeps its state; short, as sockets want it."""
    return Path(tempfile.mkdtemp(dir=tmp_path))


def start(scratch: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "penstock.demo", "--plain", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    )


def test_it_runs_for_as_long_as_told_and_keeps_every_promise(scratch: Path) -> None:
    demo = start(scratch, "--duration", "6", "--devices", "40")
    output, _ = demo.communicate(timeout=120)
    assert demo.returncode == 0, output
    assert "==> Kafka … answers on 127.0.0.1:" in output
    assert "events/s · acknowledged" in output
    assert "✓ Every acknowledged event is in the log." in output
    assert "· lost 0" in output
    assert "✗" not in output
    assert not list(scratch.glob(LEFT_BEHIND))


def test_ctrl_c_ends_it_with_the_summary(scratch: Path) -> None:
    demo = start(scratch, "--devices", "20")
    assert demo.stdout is not None
    shown = []
    for line in demo.stdout:
        shown.append(line)
        if "events/s" in line:
            break
    demo.send_signal(signal.SIGINT)
    rest, _ = demo.communicate(timeout=60)
    output = "".join(shown) + rest
    assert demo.returncode == 0, output
    assert "✓ Every acknowledged event is in the log." in output
    assert not list(scratch.glob(LEFT_BEHIND))
