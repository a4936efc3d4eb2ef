"""The folder that outlives a run: jars, class-data archives.

In:  PENSTOCK_CACHE, else XDG_CACHE_HOME/penstock, else ~/.cache/penstock.
Out: that folder, and locks in it that one process at a time holds. The kernel
     releases a lock when its holder dies, however it dies.
"""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

Progress = Callable[[str], None]


def quiet(_: str) -> None:
    """The progress of callers that show none."""


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    environment = os.environ if environment is None else environment
    if own := environment.get("PENSTOCK_CACHE"):
        return Path(own).absolute()
    shared = environment.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache").absolute() / "penstock"


@contextmanager
def only_one(lock: Path, progress: Progress = quiet) -> Iterator[None]:
    """Runs the body while no other process runs one with the same lock file.

    The wait has no deadline of its own: every holder's work has one.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"waiting for another penstock that holds {lock}")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
