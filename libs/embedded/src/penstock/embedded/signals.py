"""Signals → a call in an ordinary thread.

In:  SIGINT, SIGTERM, SIGHUP while the `with` block runs.
Out: one call of `stop` for each, outside of the signal handler, where taking
     locks is safe. The handlers from before come back at the end of the block.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stop_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Main thread only, as signals are."""
    received: SimpleQueue[int | None] = SimpleQueue()  # its put may be called from a signal handler

    def relay() -> None:
        while received.get() is not None:
            stop()

    thread = Thread(target=relay, name="signals", daemon=True)
    thread.start()
    before = {number: signal.signal(number, lambda n, _: received.put(n)) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        received.put(None)
        thread.join()
