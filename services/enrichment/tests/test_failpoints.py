import signal
import subprocess
import sys

import pytest
from penstock.enrichment.failpoints import failpoint

PASS = "from penstock.enrichment.failpoints import failpoint\nfailpoint({!r})('before_commit')\nprint('lives')"


def test_without_settings_everybody_passes() -> None:
    failpoint("")("before_commit")


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ("before_commit=1000", -signal.SIGKILL),
        ("before_commit=0", 0),
        ("after_commit=1000", 0),
        ("after_commit=1,before_commit=1000", -signal.SIGKILL),
    ],
)
def test_whoever_passes_a_failpoint_dies_as_by_kill_9(settings: str, code: int) -> None:
    ended = subprocess.run([sys.executable, "-c", PASS.format(settings)], capture_output=True, check=False)
    assert ended.returncode == code
    assert (b"lives" in ended.stdout) == (code == 0)
