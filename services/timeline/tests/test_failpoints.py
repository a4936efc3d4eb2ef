import signal
import subprocess
import sys

import pytest
from penstock.timelines.failpoints import failpoint, parsed

PASS = "from penstock.timelines.failpoints import failpoint\nfailpoint({!r})('applied')\nprint('lives')"


def test_without_settings_everybody_passes() -> None:
    failpoint("")("applied")


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ("applied=1000", -signal.SIGKILL),
        ("applied=0", 0),
        ("image_taken=1000", 0),
        ("image_taken=1,applied=1000", -signal.SIGKILL),
    ],
)
def test_whoever_passes_a_failpoint_dies_as_by_kill_9(settings: str, code: int) -> None:
    ended = subprocess.run([sys.executable, "-c", PASS.format(settings)], capture_output=True, check=False)
    assert ended.returncode == code
    assert (b"lives" in ended.stdout) == (code == 0)


@pytest.mark.parametrize("settings", ["aplied=3", "applied", "applied=x", "applied=1,,"])
def test_a_failpoint_that_is_none(settings: str) -> None:
    with pytest.raises(ValueError, match="names are applied, "):
        parsed(settings)
