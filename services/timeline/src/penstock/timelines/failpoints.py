"""Places where a crash test wants the process to die, as kill -9 would: nothing is flushed, nobody is told."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable

NAMES = ("applied", "image_taken", "snapshot_partial", "snapshot_moved", "snapshot_written", "refill_asked")
Failpoint = Callable[[str], None]


def no_failpoint(_: str) -> None:
    """Everybody passes."""


def failpoint(settings: str) -> Failpoint:
    """From NAME=PERMILLE,…: at each pass of NAME, the process dies with that probability."""
    if not settings:
        return no_failpoint
    odds = parsed(settings)

    def pass_by(name: str) -> None:
        if random.randrange(1000) < odds.get(name, 0):
            os.kill(os.getpid(), signal.SIGKILL)

    return pass_by


def parsed(settings: str) -> dict[str, int]:
    """ValueError if there is no such place, or the odds are none."""
    odds = {}
    for one in settings.split(",") if settings else ():
        name, _, permille = one.partition("=")
        if name not in NAMES or not permille.isdigit():
            raise ValueError(f"must be NAME=PERMILLE, separated by commas; names are {', '.join(NAMES)}")
        odds[name] = int(permille)
    return odds
