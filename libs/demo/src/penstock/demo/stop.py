"""Requests to stop, as Ctrl-C makes them: the first ends the devices and has all judged, the next ends everything.

In:  requests, from any thread. Out: a supervisor that is told; a future of the event loop for a request that comes
     while the end is under way, which is not to be waited for any longer.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from penstock.embedded.errors import StopRequestedError
from penstock.embedded.supervisor import Supervisor


class Stop:
    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor = supervisor
        self._tell: Callable[[], object] | None = None

    def request(self) -> None:
        tell = self._tell
        self.supervisor.request_stop()
        if tell is not None:
            self.supervisor.request_stop()  # twice is: kill, do not wait
            tell()

    @contextmanager
    def ending(self) -> Iterator[asyncio.Future[None]]:
        """The end is under way: the future is done when a stop is requested meanwhile. Inside of an event loop."""
        loop = asyncio.get_running_loop()
        again: asyncio.Future[None] = loop.create_future()
        self._tell = lambda: loop.call_soon_threadsafe(_settle, again)
        try:
            yield again
        finally:
            self._tell = None


async def unless(again: asyncio.Future[None], work: asyncio.Task[None]) -> None:
    """Waits for the work; StopRequestedError if the future comes first."""
    await asyncio.wait({again, work}, return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        raise StopRequestedError("stopped before all was judged, as requested")
    await work


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
