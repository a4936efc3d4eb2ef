"""The supervisor with children of a few lines of Python."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Thread, Timer

import pytest
from penstock.embedded.child import Child, Probe
from penstock.embedded.errors import (
    ChildDiedError,
    ChildFailedError,
    ChildNotReadyError,
    StateInUseError,
    StopRequestedError,
)
from penstock.embedded.supervisor import Supervisor

MakeChild = Callable[..., Child]

FOREVER = "import signal; signal.pause()"
STUBBORN = """
import signal, pathlib, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path({ready!r}).touch()
while True: signal.pause()
"""


def exists(path: Path) -> Probe:
    return lambda: None if path.exists() else f"{path.name} is missing"


def is_running(pid: int) -> bool:
    """Only for our own children, which are reaped before their end is told."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_child_is_ready_when_it_says_so(supervisor: Supervisor, python_child: MakeChild, tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    supervisor.start(
        python_child("slow", f"import pathlib; pathlib.Path({str(sign)!r}).touch();" + FOREVER, exists(sign))
    )
    assert sign.exists()
    assert is_running(supervisor.pid("slow"))


def test_a_child_that_dies_while_starting_ends_the_start_at_once(
    supervisor: Supervisor, python_child: MakeChild, tmp_path: Path
) -> None:
    never = exists(tmp_path / "never")
    child = python_child("broken", "print('the disk is full'); raise SystemExit(3)", never, ready_timeout_s=3600)
    with pytest.raises(ChildDiedError) as died:
        supervisor.start(child)
    assert (died.value.name, died.value.exit_code) == ("broken", 3)
    assert "broken ended by itself with exit code 3" in str(died.value)
    assert "the disk is full" in str(died.value)


def test_a_child_that_never_answers_is_told_with_what_is_missing(
    supervisor: Supervisor, python_child: MakeChild, tmp_path: Path
) -> None:
    child = python_child("mute", FOREVER, exists(tmp_path / "sign"), ready_timeout_s=0.1)
    with pytest.raises(ChildNotReadyError, match=r"mute was not ready within 0\.1 s: sign is missing"):
        supervisor.start(child)


def test_a_command_that_does_not_exist(supervisor: Supervisor) -> None:
    with pytest.raises(ChildDiedError, match="cannot start no-such-program: No such file"):
        supervisor.start(Child("ghost", ("no-such-program",), lambda: "never there"))


def test_wait_raises_when_a_child_dies(supervisor: Supervisor, python_child: MakeChild) -> None:
    supervisor.start(python_child("steady", FOREVER))
    supervisor.start(python_child("fragile", FOREVER))
    os.kill(supervisor.pid("fragile"), signal.SIGKILL)
    with pytest.raises(ChildDiedError, match="fragile ended by itself with signal SIGKILL"):
        supervisor.wait(timeout_s=60)


def test_wait_returns_when_asked_to_stop_or_when_the_time_is_up(
    supervisor: Supervisor, python_child: MakeChild
) -> None:
    supervisor.start(python_child("steady", FOREVER))
    assert supervisor.wait(timeout_s=0) is False
    Timer(0.05, supervisor.request_stop).start()
    assert supervisor.wait(timeout_s=60) is True


def test_a_stop_request_ends_a_start(supervisor: Supervisor, python_child: MakeChild, tmp_path: Path) -> None:
    supervisor.request_stop()
    with pytest.raises(StopRequestedError):
        supervisor.start(python_child("slow", FOREVER, exists(tmp_path / "never")))


def test_a_child_that_does_something_and_ends(supervisor: Supervisor, python_child: MakeChild) -> None:
    assert supervisor.run(python_child("task", "print('done'); raise SystemExit(3)"), timeout_s=60) == 3
    assert supervisor.log("task").read_text() == "done\n"
    supervisor.check()


def test_such_a_child_is_killed_by_the_next_request_to_stop_or_when_its_time_is_up(
    supervisor: Supervisor, python_child: MakeChild
) -> None:
    supervisor.request_stop()
    assert supervisor.run(python_child("slow", FOREVER), timeout_s=0.1) is None
    Timer(0.1, supervisor.request_stop).start()
    assert supervisor.run(python_child("endless", FOREVER), timeout_s=60) is None
    assert not is_running(supervisor.pid("slow"))
    assert not is_running(supervisor.pid("endless"))


def test_such_a_child_does_not_outlive_another_that_dies(supervisor: Supervisor, python_child: MakeChild) -> None:
    supervisor.start(python_child("fragile", FOREVER))
    Timer(0.1, os.kill, (supervisor.pid("fragile"), signal.SIGKILL)).start()
    assert supervisor.run(python_child("endless", FOREVER), timeout_s=60) is None
    with pytest.raises(ChildDiedError, match="fragile"):
        supervisor.check()


def test_children_stop_in_reverse_order(tmp_path: Path, python_child: MakeChild) -> None:
    ends = tmp_path / "ends"
    program = """
import signal, pathlib
def end(*_):
    with open({ends!r}, "a") as file: file.write("{name} ")
    raise SystemExit
signal.signal(signal.SIGTERM, end)
pathlib.Path({sign!r}).touch()
while True: signal.pause()
"""
    with Supervisor(tmp_path / "state") as supervisor:
        for name in ("first", "second", "third"):
            sign = tmp_path / name
            text = program.format(ends=str(ends), name=name, sign=str(sign))
            supervisor.start(python_child(name, text, exists(sign)))
    assert ends.read_text().split() == ["third", "second", "first"]


def test_a_child_that_does_not_stop_is_killed(tmp_path: Path, python_child: MakeChild) -> None:
    said: list[str] = []
    sign = tmp_path / "sign"
    with Supervisor(tmp_path / "state", said.append) as supervisor:
        supervisor.start(python_child("stubborn", STUBBORN.format(ready=str(sign)), exists(sign), stop_grace_s=0.1))
        pid = supervisor.pid("stubborn")
    assert not is_running(pid)
    assert said == ["stubborn did not stop in time and was killed"]


def test_a_paused_child_is_stopped_without_being_killed(tmp_path: Path, python_child: MakeChild) -> None:
    said: list[str] = []
    with Supervisor(tmp_path / "state", said.append) as supervisor:
        supervisor.start(python_child("paused", FOREVER, stop_grace_s=60))
        os.kill(supervisor.pid("paused"), signal.SIGSTOP)
    assert said == []


def test_a_second_request_to_stop_does_not_wait_for_the_grace(tmp_path: Path, python_child: MakeChild) -> None:
    sign = tmp_path / "sign"
    supervisor = Supervisor(tmp_path / "state")
    supervisor.start(python_child("stubborn", STUBBORN.format(ready=str(sign)), exists(sign), stop_grace_s=3600))
    stopping = Thread(target=supervisor.stop)
    supervisor.request_stop()
    stopping.start()
    supervisor.request_stop()
    stopping.join(60)
    assert not stopping.is_alive()


def test_kill_and_restart(supervisor: Supervisor, python_child: MakeChild) -> None:
    supervisor.start(python_child("crashing", "print('a life', flush=True);" + FOREVER))
    before = supervisor.pid("crashing")
    supervisor.kill("crashing")
    assert not is_running(before)
    supervisor.check()  # killed by us: no complaint
    supervisor.restart("crashing")
    assert supervisor.pid("crashing") != before
    supervisor.check()


def test_what_a_dead_child_started_dies_with_it(
    supervisor: Supervisor, python_child: MakeChild, tmp_path: Path
) -> None:
    lock = tmp_path / "lock"
    supervisor.start(python_child("parent", _locking_grandchild(lock), exists(lock)))
    os.kill(supervisor.pid("parent"), signal.SIGKILL)
    _await_release(lock)
    with pytest.raises(ChildDiedError):
        supervisor.wait(timeout_s=60)


def test_stopping_twice_is_harmless(supervisor: Supervisor, python_child: MakeChild) -> None:
    supervisor.start(python_child("steady", FOREVER))
    supervisor.stop()
    supervisor.stop()


def test_a_state_folder_has_one_supervisor(supervisor: Supervisor) -> None:
    with pytest.raises(StateInUseError, match="another penstock runs in"):
        Supervisor(supervisor.state)


def test_a_name_is_given_once(supervisor: Supervisor, python_child: MakeChild) -> None:
    supervisor.start(python_child("one", FOREVER))
    with pytest.raises(ValueError, match="already a child 'one'"):
        supervisor.start(python_child("one", FOREVER))


def test_the_log_of_the_run_before_is_kept(tmp_path: Path, python_child: MakeChild) -> None:
    log = tmp_path / "logs" / "talker.log"

    def spoken() -> str | None:
        return None if log.exists() and log.stat().st_size else "silent"

    for words in ("old", "new"):
        with Supervisor(tmp_path) as supervisor:
            supervisor.start(python_child("talker", f"print({words!r}, flush=True);" + FOREVER, spoken))
    assert log.read_text() == "new\n"
    assert log.with_suffix(".previous.log").read_text() == "old\n"


KILLED = """
import sys
from pathlib import Path
from penstock.embedded.child import Child
from penstock.embedded.supervisor import Supervisor

lock = Path(sys.argv[2])
supervisor = Supervisor(Path(sys.argv[1]))
supervisor.start(Child("parent", (sys.executable, "-c", sys.argv[3]), lambda: None if lock.exists() else "no lock"))
print("ready", flush=True)
supervisor.wait()
"""


def test_nothing_is_left_after_kill_9_of_the_supervisor(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    arguments = [str(tmp_path / "state"), str(lock), _locking_grandchild(lock)]
    with subprocess.Popen([sys.executable, "-c", KILLED, *arguments], stdout=subprocess.PIPE) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == b"ready\n"
        assert not _is_released(lock)
        killed.kill()
    _await_release(lock)


def _locking_grandchild(lock: Path) -> str:
    """A child whose own child holds a lock, which the kernel gives back when both are dead."""
    return f"""
import fcntl, os, pathlib, signal
held = open({str(lock) + ".taken"!r}, "w")
fcntl.flock(held, fcntl.LOCK_EX)
os.fork()
pathlib.Path({str(lock)!r}).touch()
while True: signal.pause()
"""


def _is_released(lock: Path) -> bool:
    with Path(f"{lock}.taken").open("w") as wanted:
        try:
            fcntl.flock(wanted, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _await_release(lock: Path) -> None:
    """Blocks until no process holds the lock; pytest's own time limit is the deadline."""
    with Path(f"{lock}.taken").open("w") as wanted:
        fcntl.flock(wanted, fcntl.LOCK_EX)


def test_a_child_that_runs_but_has_failed_ends_the_wait(supervisor: Supervisor, python_child: MakeChild) -> None:
    faults: list[str] = []
    child = replace(python_child("half", FOREVER), fault=lambda: faults[0] if faults else None)
    supervisor.start(child)
    assert supervisor.wait(timeout_s=0) is False
    faults.append("task 0 is FAILED")
    with pytest.raises(ChildFailedError, match="half failed: task 0 is FAILED"):
        supervisor.wait(timeout_s=60)
    supervisor.kill("half")
    supervisor.check()  # what was killed on purpose has no faults


def test_a_child_is_asked_to_stop_by_its_own_signal(supervisor: Supervisor, python_child: MakeChild) -> None:
    sign = supervisor.state / "sign"
    program = f"""
import pathlib, signal, sys
signal.signal(signal.SIGINT, lambda *_: sys.exit(7))
pathlib.Path({str(sign)!r}).touch()
signal.pause()
"""
    supervisor.start(replace(python_child("server", program, exists(sign)), stop_signal=signal.SIGINT))
    assert supervisor.end("server") == 7
