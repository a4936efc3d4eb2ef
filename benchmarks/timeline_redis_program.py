"""Where redis-server is; installs it where it is missing and that needs no password.

Out: its path, or a SystemExit that says what to install. A package manager may also set it up as a service of the
system: the benchmark starts one of its own, on a port of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from stack import say

NAMES = ("redis-server", "valkey-server")
# As libs/embedded/bootstrap.sh installs Java.
INSTALLS: dict[str, tuple[tuple[str, ...], ...]] = {
    "brew": (("brew", "install", "redis"),),
    "apt-get": (("apt-get", "update", "-q"), ("apt-get", "install", "-y", "-q", "redis-server")),
    "dnf": (("dnf", "install", "-y", "redis"),),
    "yum": (("yum", "install", "-y", "redis"),),
    "zypper": (("zypper", "--non-interactive", "install", "redis"),),
    "pacman": (("pacman", "-Sy", "--noconfirm", "--needed", "redis"),),
    "apk": (("apk", "add", "redis"),),
}
# So that Debian does not start the service that it sets up.
QUIET = {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}


def redis_program() -> Path:
    found = _find()
    if found is None:
        _install()
        found = _find()
    if found is None:
        raise SystemExit("bench-timeline compares with Redis: install redis-server (Debian's package has that name)")
    return found


def _find() -> Path | None:
    for name in NAMES:
        if (path := shutil.which(name)) is not None:
            return Path(path)
    return None


def _install() -> None:
    installer = next((name for name in INSTALLS if shutil.which(name) is not None), None)
    prefix = _as_root() if installer != "brew" else ()
    if installer is None or prefix is None:
        return
    for command in INSTALLS[installer]:
        say(f"==> {' '.join(command)}")
        environment = [f"{name}={value}" for name, value in QUIET.items()]
        if subprocess.run([*prefix, "env", *environment, *command], stdout=2, check=False).returncode:
            raise SystemExit(f"{installer} could not install Redis; its message is above")


def _as_root() -> Sequence[str] | None:
    """What to put before a command; None where it would ask for a password."""
    if os.geteuid() == 0:
        return ()
    if shutil.which("sudo") is None or subprocess.run(["sudo", "-n", "true"], check=False).returncode:
        return None
    return ("sudo", "-n")
