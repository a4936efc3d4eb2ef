"""Ends the children of a supervisor that could not end them itself.

In:  on standard input, `+PID` for each process group that starts and `-PID` for
     each that is gone. The launcher of a child writes its own `+PID` before it
     becomes the child, so there is no moment in which a child is unknown.
Out: when the supervisor is gone (end of input, or another parent), every group
     left gets SIGTERM, and SIGKILL after a grace. Then the warden ends.

A program of its own, run as a file with nothing but the standard library. It works the
same on Linux and macOS, reaches grandchildren, and does not depend on which thread
started a child, as the kernel's parent-death signal does.
"""

import os
import select
import signal
import time
from contextlib import suppress

GRACE_S = 3.0
LOOK_EVERY_S = 1.0  # for a parent that died while a stranger holds our input open
POLL_S = 0.05


def main() -> None:
    supervisor = os.getppid()
    # The terminal's Ctrl-C is the supervisor's to handle; we must outlive it.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    groups: set[int] = set()
    rest = b""
    while os.getppid() == supervisor:
        if not select.select([0], [], [], LOOK_EVERY_S)[0]:
            continue
        chunk = os.read(0, 4096)
        if not chunk:
            break
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            note(groups, line)
    end(groups)


def note(groups: set[int], line: bytes) -> None:
    (groups.add if line.startswith(b"+") else groups.discard)(int(line[1:]))


def end(groups: set[int]) -> None:
    left = {group for group in groups if send(group, signal.SIGTERM)}
    deadline = time.monotonic() + GRACE_S
    while left and time.monotonic() < deadline:
        time.sleep(POLL_S)  # they are not our children: there is nothing to wait on
        left = {group for group in left if send(group, 0)}
    for group in left:
        send(group, signal.SIGKILL)


def send(group: int, number: int) -> bool:
    """Whether the group still exists."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
        return True
    return False


if __name__ == "__main__":
    main()
