"""`make demo` as people without a terminal see it: the whole stack, devices, SQL, audit, nothing left behind."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

LEFT_BEHIND = "penstock-demo-*"
# The demo bounds each of its steps; this is for a machine on which all of them take long. It takes half a minute of a
# quiet one.
PATIENCE_S = 560
pytestmark = pytest.mark.timeout(PATIENCE_S + 30)
PROMISES = (
    "✓ Every acknowledged event is durable.",
    "✓ Every one of them came out enriched, exactly once.",
    "✓ Every join is with the profile that was valid when the event happened.",
    "✓ Enrichment's table is what the database has.",
    "✓ Every timeline is what the logs of posts and follows say, computed again.",
    "✓ Followers were shown posts as they were published.",
)


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


def number(output: str, pattern: str) -> int:
    """The number in it, as people read it."""
    found = re.search(pattern, output)
    assert found is not None, f"no {pattern!r} in:\n{output}"
    return int(found[1].replace(",", ""))


def check(output: str, scratch: Path) -> None:
    """Every promise was kept, and nothing is left behind."""
    for promise in PROMISES:
        assert promise in output
    assert "✗" not in output
    assert not list(scratch.glob(LEFT_BEHIND))


def test_it_runs_for_as_long_as_told_and_keeps_every_promise(scratch: Path) -> None:
    demo = start(scratch, "--duration", "8", "--devices", "40")
    output, _ = demo.communicate(timeout=PATIENCE_S)
    assert demo.returncode == 0, output
    check(output, scratch)
    for name in ("Kafka", "PostgreSQL", "ingestion", "enrichment", "timeline"):
        assert f"==> {name} answers on 127.0.0.1:" in output
    assert "==> Spark joins posts with follows" in output
    assert "==> timeline knows 200 users" in output
    assert "==> Debezium follows public.profiles" in output
    assert "==> enrichment has 38 profiles" in output
    assert "events/s · acknowledged" in output

    acknowledged = number(output, r"acknowledged ([\d,]+) · in the raw log [\d,]+ · lost 0\n")
    assert number(output, r"enriched ([\d,]+) · lost 0 · doubled 0\n") >= acknowledged > 0
    assert number(output, r"commits ([\d,]+) · wrong 0\n") > 0
    assert number(output, r"rows compared ([\d,]+) · differing 0\n") >= 38
    assert number(output, r" {4}matched ([\d,]+) ·") > 0
    # Device 7 comes back with events from before the database's snapshot.
    assert number(output, r"· history evicted ([\d,]+)\n") > 0
    assert sum(number(output, rf"([\d,]+) {kind}s?") for kind in ("update", "insert", "delete")) > 0
    # Two hundred who were there from the beginning, the one whose timeline is shown, and the reader of the probe.
    assert number(output, r"users ([\d,]+) · entries [\d,]+ · differences 0\n") >= 202
    assert number(output, r"users [\d,]+ · entries ([\d,]+) · differences 0\n") > 0
    assert number(output, r"probes ([\d,]+) · not seen 0\n") > 0


def until(demo: subprocess.Popen[str], sign: str) -> str:
    """What it writes up to the line that has this in it."""
    assert demo.stdout is not None
    shown = []
    for line in demo.stdout:
        shown.append(line)
        if sign in line:
            break
    return "".join(shown)


def test_ctrl_c_ends_it_with_the_summary(scratch: Path) -> None:
    demo = start(scratch, "--devices", "20")
    shown = until(demo, "events/s")
    demo.send_signal(signal.SIGINT)
    rest, _ = demo.communicate(timeout=PATIENCE_S)
    assert demo.returncode == 0, shown + rest
    check(shown + rest, scratch)


def test_ctrl_c_again_ends_it_at_once(scratch: Path) -> None:
    demo = start(scratch, "--devices", "20", "--duration", "1")
    shown = until(demo, "==> handing in what is left")
    demo.send_signal(signal.SIGINT)
    rest, _ = demo.communicate(timeout=PATIENCE_S)
    assert demo.returncode == 130, shown + rest
    assert "==> stopped before all was judged" in rest
    assert "✓" not in rest
    assert not list(scratch.glob(LEFT_BEHIND))


def test_ctrl_c_while_it_starts_leaves_nothing_behind(scratch: Path) -> None:
    demo = start(scratch, "--devices", "20")
    until(demo, "==> starting Spark")
    demo.send_signal(signal.SIGINT)
    rest, _ = demo.communicate(timeout=PATIENCE_S)
    assert demo.returncode == 130, rest
    assert "==> stopped while starting, as requested" in rest
    assert not list(scratch.glob(LEFT_BEHIND))
