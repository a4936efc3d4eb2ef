import asyncio
import contextlib
import gc
from pathlib import Path
from typing import Any

import pytest
from penstock.demo.run import until_the_end
from penstock.embedded.child import Child
from penstock.embedded.errors import ChildDiedError
from penstock.embedded.supervisor import Supervisor


async def forever() -> None:
    await asyncio.Event().wait()


async def fail() -> None:
    raise KeyError("a bug")


async def test_time_is_up_while_all_is_well(tmp_path: Path) -> None:
    work = asyncio.create_task(forever())
    with Supervisor(tmp_path) as supervisor:
        await until_the_end(supervisor, 0.01, {work})
    assert not work.done()
    work.cancel()


async def test_a_bug_ends_it_at_once(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as supervisor:
        with pytest.raises(KeyError, match="a bug"):
            await until_the_end(supervisor, None, {asyncio.create_task(fail())})
        assert supervisor.wait()


async def test_a_dead_child_is_the_reason_given(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as supervisor:
        supervisor.start(Child("service", ("sh", "-c", "echo out of memory; sleep 0.2; exit 3")))
        with pytest.raises(ChildDiedError, match="exit code 3") as raised:
            await until_the_end(supervisor, None, {asyncio.create_task(forever())})
    assert "out of memory" in str(raised.value)


async def test_a_dead_child_is_told_once_and_not_by_asyncio_again(tmp_path: Path) -> None:
    unclaimed: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unclaimed.append(context))
    work = asyncio.create_task(forever())
    with Supervisor(tmp_path) as supervisor:
        supervisor.start(Child("service", ("sh", "-c", "sleep 0.2; exit 3")))
        with contextlib.suppress(ChildDiedError):
            await until_the_end(supervisor, None, {work})
    gc.collect()
    assert unclaimed == []
    work.cancel()
