import asyncio

import pytest
from penstock.demo import ending
from penstock.demo.ending import hand_in, is_complete
from penstock.demo.ledger import Identity
from penstock.demo.scene import Scene

ONE = Identity("device-0009", "boot-1", 1)


async def test_whoever_is_late_has_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "HAND_IN_S", 0.01)
    done = asyncio.create_task(asyncio.sleep(0))
    late = asyncio.create_task(asyncio.Event().wait())

    async def wait() -> None:
        await late

    waiting = asyncio.create_task(wait())
    await hand_in({done, waiting})
    assert (done.cancelled(), waiting.cancelled()) == (False, True)


def test_it_is_complete_when_all_is_enriched_and_right(scene: Scene) -> None:
    assert is_complete(scene)
    scene.ledger.make(ONE, 0)
    assert is_complete(scene)
    scene.ledger.acknowledge(ONE)
    assert not is_complete(scene)
    scene.ledger.enrich(ONE)
    assert is_complete(scene)
    scene.joins.given_up = 1
    assert not is_complete(scene)
