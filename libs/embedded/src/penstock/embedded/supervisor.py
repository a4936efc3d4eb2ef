"""Starts children in order, watches them, stops them in reverse order.

In:  children (`Child`), one state folder, requests to stop.
Out: each child ready before the next one starts; any child that ends by itself
     ends the whole, as a ChildDiedError with its exit code and last log lines. So does
     one that runs but says that it cannot go on (`Child.fault`), as a ChildFailedError.
Guaranteed: after `stop` (or the end of the `with` block) no process of ours is
     left, and none is left if this process is killed, by the warden's work.
All methods may be called from any thread.
"""

import fcntl
import math
import time
from collections.abc import Callable
from pathlib import Path
from threading import Condition
from types import TracebackType
from typing import Self

from penstock.embedded.cache import Progress, quiet
from penstock.embedded.child import KILLED_WITHIN_S, Child, Process, Warden
from penstock.embedded.errors import (
    ChildDiedError,
    ChildFailedError,
    ChildNotReadyError,
    EmbeddedError,
    StateInUseError,
    StopRequestedError,
)

ASK_EVERY_S = 0.05
LOOK_EVERY_S = 2.0  # for children that run and yet have failed


class Supervisor:
    """Use as a context manager.

    >>> with Supervisor(Path(".run")) as supervisor:        # doctest: +SKIP
    ...     supervisor.start(Child("web", ("python3", "-m", "http.server")))
    ...     supervisor.wait()
    """

    def __init__(self, state: Path, progress: Progress = quiet) -> None:
        self.state = state.absolute()
        self.progress = progress
        self._logs = self.state / "logs"
        self._logs.mkdir(parents=True, exist_ok=True)
        self._lock = (self.state / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise StateInUseError(
                f"another penstock runs in {self.state}: stop it first, or use another state folder"
            ) from None
        self._changed = Condition()
        self._processes: dict[str, Process] = {}
        self._stops_requested = 0
        self._warden = Warden()

    def start(self, child: Child) -> None:
        """Returns when the child says that it is ready."""
        if child.name in self._processes:
            raise ValueError(f"there is already a child {child.name!r}")
        log = self.log(child.name)
        if log.exists():
            log.replace(log.with_suffix(".previous.log"))
        self._launch(child)

    def run(self, child: Child, timeout_s: float) -> int | None:
        """Starts a child that does something and ends; its exit code.

        None: it was killed, because a stop was requested meanwhile, another child died, or the time was up.
        """
        process = Process(child, self.log(child.name), self._warden, self._tell)
        process.expected_to_end = True
        self._processes[child.name] = process
        requested = self._stops_requested
        self._await(
            lambda: process.exit_code is not None or self._stops_requested > requested or self._is_one_dead(), timeout_s
        )
        if process.exit_code is None:
            self._kill(process)
            return None
        return process.exit_code

    def restart(self, name: str) -> None:
        """Starts a child again, stopping it first where it runs: same command, ports, state and log."""
        process = self._processes[name]
        self._end(process)
        self._launch(process.child)

    def kill(self, name: str) -> None:
        """SIGKILL, and no complaint about the death. `restart` brings the child back."""
        self._kill(self._processes[name])

    def end(self, name: str) -> int | None:
        """Stops one child as `stop` would; its exit code. `restart` brings the child back."""
        process = self._processes[name]
        self._end(process)
        return process.exit_code

    def pid(self, name: str) -> int:
        return self._processes[name].pid

    def log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def check(self) -> None:
        """Raises ChildDiedError if a child has ended by itself, ChildFailedError if one says that it failed."""
        for process in [process for process in list(self._processes.values()) if not process.expected_to_end]:
            if process.exit_code is not None:
                raise ChildDiedError(process.child.name, process.exit_code, process.log, process.last_lines())
            if (fault := process.child.fault()) is not None:
                raise ChildFailedError(process.child.name, fault, process.log, process.last_lines())

    def wait(self, timeout_s: float | None = None) -> bool:
        """Blocks until a stop is requested (True) or the time is up (False); a dead or failed child raises."""
        deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = deadline - time.monotonic()
            self._await(self._is_interrupted, max(0.0, min(LOOK_EVERY_S, left_s)))
            self.check()
            if self._stops_requested or left_s <= LOOK_EVERY_S:
                return self._stops_requested > 0

    def request_stop(self) -> None:
        """Makes `wait` return and `start` give up. Asked twice, `stop` kills without waiting."""
        with self._changed:
            self._stops_requested += 1
            self._changed.notify_all()

    def stop(self) -> None:
        """Ends all children, last one first. Harmless when repeated."""
        try:
            for process in reversed(list(self._processes.values())):
                self._end(process)
            self._processes.clear()
        finally:
            self._warden.close()
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _launch(self, child: Child) -> None:
        process = Process(child, self.log(child.name), self._warden, self._tell)
        self._processes[child.name] = process
        deadline = time.monotonic() + child.ready_timeout_s
        while (missing := child.ready()) is not None:
            if time.monotonic() > deadline:
                raise ChildNotReadyError(child.name, missing, child.ready_timeout_s, process.log, process.last_lines())
            self._await(self._is_interrupted, ASK_EVERY_S)
            self._go_on()
        self._go_on()  # an answer may have come from a stranger on the port of a dead child

    def _go_on(self) -> None:
        self.check()
        if self._stops_requested:
            raise StopRequestedError("stopped while starting, as requested")

    def _end(self, process: Process) -> None:
        if process.exit_code is not None:
            return
        process.terminate()
        self._await(lambda: process.exit_code is not None or self._is_impatient(), process.child.stop_grace_s)
        if process.exit_code is None:
            self.progress(f"{process.child.name} did not stop in time and was killed")
            self._kill(process)

    def _kill(self, process: Process) -> None:
        process.kill()
        self._await(lambda: process.exit_code is not None, KILLED_WITHIN_S)
        if process.exit_code is None:
            raise EmbeddedError(f"{process.child.name} (pid {process.pid}) does not die of SIGKILL")

    def _is_impatient(self) -> bool:
        return self._stops_requested > 1

    def _is_interrupted(self) -> bool:
        return self._stops_requested > 0 or self._is_one_dead()

    def _is_one_dead(self) -> bool:
        return any(
            process.exit_code is not None and not process.expected_to_end for process in list(self._processes.values())
        )

    def _await(self, met: Callable[[], bool], timeout_s: float | None) -> None:
        with self._changed:
            self._changed.wait_for(met, timeout_s)

    def _tell(self) -> None:
        with self._changed:
            self._changed.notify_all()
