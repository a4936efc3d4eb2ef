"""The launcher in processes of their own."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from penstock.embedded import unprivileged

PYTHON = (sys.executable, "-I", "-S")
ORPHAN = """
import os, signal
if os.fork() == 0:
    print(os.getpid(), flush=True)
    os.close(1), os.close(2)
    signal.alarm(60)
    signal.pause()
"""
LAUNCHER = (*PYTHON, unprivileged.__file__)


def run(lock: Path, program: str) -> str:
    command = [*LAUNCHER, str(lock), *PYTHON, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to become somebody else")
def test_root_becomes_nobody_and_still_reaches_a_private_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "open").write_text("reached")
    program = f"import os; print(os.getuid(), os.geteuid(), os.getgroups(), open({str(tmp_path / 'open')!r}).read())"
    user, effective, *rest = run(tmp_path / "lock", program).split()
    assert user == effective != "0"
    assert rest == ["[]", "reached"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to become somebody else")
def test_passing_through_is_all_that_is_kept(tmp_path: Path) -> None:
    program = f"import os; print(os.access({str(tmp_path)!r}, os.W_OK), os.access('/proc/1/mem', os.W_OK))"
    assert run(tmp_path / "lock", program) == "False False"


def test_a_next_life_waits_for_the_last_process_of_the_one_before(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as orphan:
        fcntl.flock(orphan, fcntl.LOCK_EX)
        with subprocess.Popen(
            [*LAUNCHER, str(tmp_path / "lock"), "/bin/echo", "started"], stdout=subprocess.PIPE, text=True
        ) as waiting:
            with pytest.raises(subprocess.TimeoutExpired):
                waiting.wait(0.5)
            fcntl.flock(orphan, fcntl.LOCK_UN)
            assert waiting.communicate(timeout=60)[0] == "started\n"


def test_the_lock_is_held_by_what_the_command_leaves_running(tmp_path: Path) -> None:
    orphan = int(run(tmp_path / "lock", ORPHAN))
    with (tmp_path / "lock").open() as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.kill(orphan, signal.SIGKILL)


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    done = subprocess.run([*LAUNCHER, str(tmp_path / "lock"), "/no/such"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "cannot start /no/such: No such file or directory\n"
