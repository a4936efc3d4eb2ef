"""One child process: what it is (`Child`) and one life of it (`Process`).

In:  a command, how to ask whether it is ready, and how long it may take.
Out: a process in a group of its own, its words in one log file, known to the
     warden from before its first instruction until the whole group is gone.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread

Probe = Callable[[], str | None]
"""Asks the child itself: None when it is ready, else what is missing. Must answer within a second or two."""

LAST_LINES = 20
LAST_BYTES = 16_384
KILLED_WITHIN_S = 10.0


def at_once() -> None:
    """The probe of children that are ready as soon as they run, and well as long as they do."""


@dataclass(frozen=True)
class Child:
    name: str
    command: tuple[str, ...]
    ready: Probe = at_once
    environment: Mapping[str, str] = field(default_factory=dict)  # on top of the supervisor's own
    folder: Path | None = None  # to run in
    ready_timeout_s: float = 180.0
    stop_grace_s: float = 15.0
    stop_signal: signal.Signals = signal.SIGTERM  # asks for an orderly end
    fault: Probe = at_once  # while it runs: None, or what went wrong inside of it for good


class Warden:
    """The process that ends our children if we are killed; see warden.py."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [*_python(), str(Path(__file__).with_name("warden.py"))],
            stdin=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        self._input = self._process.stdin
        self.descriptor = self._input.fileno()

    def forget(self, group: int) -> None:
        # A single small write to a pipe is never interleaved with the launchers' own.
        # A warden that is closed or gone (ValueError, BrokenPipeError) has nothing to remember.
        with suppress(BrokenPipeError, ValueError):
            self._input.write(b"-%d\n" % group)

    def close(self) -> None:
        self._input.close()
        self._process.wait()


class Process:
    """A running child. `changed` is called, from a thread of ours, when it has ended."""

    def __init__(self, child: Child, log: Path, warden: Warden, changed: Callable[[], None]) -> None:
        self.child = child
        self.log = log
        self.exit_code: int | None = None
        self.expected_to_end = False
        self._warden = warden
        self._changed = changed
        self._signalling = Lock()
        self._popen = _spawn(child, log, warden.descriptor)
        Thread(target=self._await_end, name=f"watch {child.name}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._popen.pid

    def terminate(self) -> None:
        """Asks the process, not its group: how its own children end is its affair."""
        self.expected_to_end = True
        self._popen.send_signal(self.child.stop_signal)
        self._popen.send_signal(signal.SIGCONT)  # a test may have paused it; it could not hear us

    def kill(self) -> None:
        """SIGKILL for the process and all that it started, as when a machine fails."""
        self.expected_to_end = True
        with self._signalling:
            if self.exit_code is None:
                _kill_group(self.pid)

    def last_lines(self) -> list[str]:
        return last_lines(self.log)

    def _await_end(self) -> None:
        exit_code = self._popen.wait()
        with self._signalling:
            _kill_group(self.pid)  # what the process left behind
            self._warden.forget(self.pid)
            self.exit_code = exit_code
        self._changed()


def last_lines(log: Path, count: int = LAST_LINES) -> list[str]:
    """The end of a log, reading no more of it than that takes."""
    with log.open("rb") as content:
        content.seek(max(0, log.stat().st_size - LAST_BYTES))
        return content.read().decode(errors="replace").splitlines()[-count:]


def _spawn(child: Child, log: Path, warden: int) -> subprocess.Popen[bytes]:
    launcher = str(Path(__file__).with_name("launch.py"))
    with log.open("ab") as words:
        return subprocess.Popen(
            [*_python(), launcher, str(warden), *child.command],
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=subprocess.STDOUT,
            cwd=child.folder,
            env={**os.environ, **child.environment},
            pass_fds=[warden],
            start_new_session=True,
        )


def _python() -> list[str]:
    return [sys.executable, "-I", "-S"]  # isolated and without site: starts in milliseconds


def _kill_group(group: int) -> None:
    # macOS refuses with EPERM where only a zombie is left.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
