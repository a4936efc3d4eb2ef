import asyncio
from pathlib import Path
from threading import Thread

import pytest
from penstock.demo.stop import Stop, unless
from penstock.embedded.errors import StopRequestedError
from penstock.embedded.supervisor import Supervisor


async def test_the_first_request_only_tells_the_supervisor(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as supervisor:
        stop = Stop(supervisor)
        stop.request()
        assert supervisor.wait(0)
        with stop.ending() as again:
            await unless(again, asyncio.create_task(asyncio.sleep(0)))


async def test_a_request_at_the_end_ends_the_end(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as supervisor:
        stop = Stop(supervisor)
        with stop.ending() as again:
            endless = asyncio.create_task(_forever())
            Thread(target=stop.request).start()
            with pytest.raises(StopRequestedError, match="before all was judged"):
                await asyncio.wait_for(unless(again, endless), 60)
        assert endless.cancelled()
        stop.request()  # too late to mean anything, and no error


async def test_what_goes_wrong_at_the_end_is_raised(tmp_path: Path) -> None:
    async def fail() -> None:
        raise KeyError("a bug")

    with Supervisor(tmp_path) as supervisor, Stop(supervisor).ending() as again, pytest.raises(KeyError):
        await unless(again, asyncio.create_task(fail()))


async def _forever() -> None:
    await asyncio.Event().wait()
