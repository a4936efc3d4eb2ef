"""Becomes a program that refuses to run as root, as PostgreSQL does.

In:  a lock file, then the command.
Out: the command, in this very process, once nobody else holds the lock. Whoever the command forks holds
     it too, so a next life starts only when every process of the last one is gone, also after kill -9.
As root: the command runs as `nobody`, which needs no new user on the machine. It keeps the one right to pass through
     folders: state below a private folder (a home, pytest's) is reached without opening that folder to others.

A program of its own, run as a file with nothing but the standard library.
"""

import ctypes
import fcntl
import os
import pwd
import struct
import sys
import time
from pathlib import Path

USER = "nobody"
LAST_LIFE_ENDS_WITHIN_S = 20.0
POLL_S = 0.02

# From linux/capability.h and linux/prctl.h.
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
CAPABILITY_VERSION_3 = 0x20080522
PR_SET_KEEPCAPS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 8, 47, 2


def main(lock: Path, command: list[str]) -> None:
    hold(lock)
    if os.geteuid() == 0:
        become_nobody()
    try:
        os.execv(command[0], command)
    except OSError as error:
        sys.exit(f"cannot start {command[0]}: {error.strerror}")


def hold(lock: Path) -> None:
    """For the rest of this process, whatever it becomes. The kernel has no flock with a deadline, hence the polling."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    os.set_inheritable(descriptor, True)
    deadline = time.monotonic() + LAST_LIFE_ENDS_WITHIN_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                sys.exit(f"processes of the last life still hold {lock}: end them, then start again")
            time.sleep(POLL_S)
        else:
            return


def become_nobody() -> None:
    passage = None if sys.platform != "linux" else _right_of_passage()
    libc = ctypes.CDLL(None)
    if passage is not None:
        libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
    user = pwd.getpwnam(USER)
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    if passage is not None:
        mask = 1 << passage
        # Effective, permitted, inheritable; twice, for capabilities 0 to 31 and 32 to 63.
        libc.capset(struct.pack("Ii", CAPABILITY_VERSION_3, 0), struct.pack("6I", mask, mask, mask, 0, 0, 0))
        libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, passage, 0, 0)


def _right_of_passage() -> int | None:
    """The least capability we may keep; containers often have only the greater one. None: paths must be open to all."""
    status = Path("/proc/self/status").read_text()
    permitted = int(status.partition("CapPrm:")[2].split()[0], 16)
    return next((right for right in (CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE) if permitted >> right & 1), None)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
