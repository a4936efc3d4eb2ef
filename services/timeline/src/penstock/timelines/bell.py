"""Tells the event loop that something was applied: once for all that happened since it last looked.

In:  from the applier's thread: users whose timelines may have changed, and that positions moved.
Out: one call in the event loop, with all users that were named since the last one.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable


class Bell:
    def __init__(self, loop: asyncio.AbstractEventLoop, listen: Callable[[set[int]], None]) -> None:
        self._loop = loop
        self._listen = listen
        self._lock = threading.Lock()
        self._changed: set[int] = set()
        self._is_rung = False

    def ring(self, changed: Iterable[int]) -> None:
        """Any thread."""
        with self._lock:
            self._changed.update(changed)
            if self._is_rung:
                return
            self._is_rung = True
        self._loop.call_soon_threadsafe(self._answer)

    def _answer(self) -> None:
        with self._lock:
            changed, self._changed, self._is_rung = self._changed, set(), False
        self._listen(changed)
