from __future__ import annotations

import asyncio
import threading

from penstock.timelines.bell import Bell


async def test_many_rings_are_one_call_with_everybody_who_was_named() -> None:
    heard: list[set[int]] = []
    bell = Bell(asyncio.get_running_loop(), heard.append)

    def ring() -> None:
        for number in range(1000):
            bell.ring([number])
        bell.ring(())

    thread = threading.Thread(target=ring)
    thread.start()
    thread.join()  # the loop has had no turn
    await asyncio.sleep(0)
    assert heard == [set(range(1000))]
    bell.ring(())
    await asyncio.sleep(0)
    assert heard[1:] == [set()]
