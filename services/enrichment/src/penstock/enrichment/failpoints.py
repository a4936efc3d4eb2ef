"""Places where a crash test wants the process to die, as kill -9 would: nothing is flushed, nobody is told."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable

from penstock.enrichment.transactor import no_failpoint


def failpoint(settings: str) -> Callable[[str], None]:
    """From NAME=PERMILLE,…: at each pass of NAME, the process dies with that probability."""
    if not settings:
        return no_failpoint
    odds = {name: int(permille) for name, _, permille in (one.partition("=") for one in settings.split(","))}

    def pass_by(name: str) -> None:
        if random.randrange(1000) < odds.get(name, 0):
            os.kill(os.getpid(), signal.SIGKILL)

    return pass_by
