"""The applier beside the event loop: a failure of it ends the process."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

from penstock.serving.server import Server
from penstock.timelines.applier import Applier
from penstock.timelines.errors import RefusedStartError

logger = logging.getLogger(__name__)


class ApplierThread:
    def __init__(self, applier: Applier, ends: dict[int, int], loop: asyncio.AbstractEventLoop) -> None:
        self._applier = applier
        self._ends = ends
        self._loop = loop
        self._ready = asyncio.Event()  # loaded, or ended
        self._ended: asyncio.Future[bool] = loop.create_future()
        self._thread = threading.Thread(target=self._run, name="applier", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        failed = True
        try:
            self._applier.run(self._ends, self._tell_loaded)
            failed = False
        except RefusedStartError as error:
            logger.error("cannot serve: %s", error)  # noqa: TRY400 -- its text says all
        except Exception:
            logger.exception("deliveries cannot be applied; this process ends, and the next one goes on from the log")
        finally:
            self._loop.call_soon_threadsafe(self._end, failed)

    def _tell_loaded(self) -> None:
        self._loop.call_soon_threadsafe(self._ready.set)

    def _end(self, failed: bool) -> None:
        self._ended.set_result(failed)
        self._ready.set()

    async def until_loaded_then(self, stop: asyncio.Event, server: Server) -> bool:
        """SERVING once all is applied; returns at `stop`, or True when the applier failed."""
        stopped = asyncio.ensure_future(stop.wait())
        try:
            await _first(stopped, asyncio.ensure_future(self._ready.wait()))
            if not self._ended.done() and not stop.is_set():
                await server.set_serving(True)
                logger.info("serving")
            await _first(stopped, self._ended)
            return self._ended.done() and self._ended.result()
        finally:
            stopped.cancel()

    async def ended_within(self, grace_s: float) -> bool:
        """Waits for its end, though not for ever; True if it failed."""
        try:
            async with asyncio.timeout(grace_s):
                return await asyncio.shield(self._ended)
        except TimeoutError:
            logger.warning("the last snapshots took longer than %d s: the next start replays more", grace_s)
            return False


async def _first(*awaited: asyncio.Future[Any]) -> None:
    await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
