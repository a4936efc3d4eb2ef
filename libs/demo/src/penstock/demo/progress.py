"""Starts things beside each other, and says which of them is ready.

In:  what to start, by name. Out: futures of what was started, and one line for each that is ready.
Leaving the `with` block waits for all of them. What fails is raised to whoever asks for it.
"""

import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Lock
from types import TracebackType
from typing import Any, Self, TypeVar

Write = Callable[[str], None]
"""Writes to the terminal at once, without a line's end."""

_T = TypeVar("_T")


class Starts:
    def __init__(self, write: Write, most_at_once: int = 8) -> None:
        self._write, self._writing = write, Lock()
        self._pool = ThreadPoolExecutor(most_at_once, thread_name_prefix="start")

    def announce(self, *names: str) -> None:
        """What is about to begin."""
        self._say(f"starting {', '.join(names[:-1])} and {names[-1]} …" if len(names) > 1 else f"starting {names[0]} …")

    def begin(self, name: str, start: Callable[[], _T], ready: Callable[[_T], str]) -> Future[_T]:
        """`ready` says in words what was started, for example that it answers, and where."""

        def timed() -> _T:
            began = time.monotonic()
            started = start()
            self._say(f"{name} {ready(started)} after {time.monotonic() - began:.1f} s")
            return started

        return self._pool.submit(timed)

    def wait_for(self, **started: Future[Any]) -> None:
        """Until all are there, by name; says which one comes last. The first that fails is raised at once."""
        waiting = {future: name for name, future in started.items()}
        while waiting:
            if len(waiting) == 1 < len(started):
                self._say(f"waiting for {next(iter(waiting.values()))} …")
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
                del waiting[future]

    def _say(self, text: str) -> None:
        with self._writing:
            self._write(f"==> {text}\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
