import asyncio
from random import Random

from penstock.demo.application import Application
from penstock.demo.fleet import RealTime
from penstock.demo.profiles import Change, Profile, Profiles
from penstock.demo.truth import Truth

ANN = Profile("ann", "Ann", "DE", "pro")


class InstantTime(RealTime):
    """Waits for nothing; time goes by all the same."""

    def __init__(self) -> None:
        super().__init__()
        self._us = 1_000

    def now_us(self) -> int:
        self._us += 1
        return self._us

    async def wait_us(self, span_us: int) -> None:
        await asyncio.sleep(0)


class FakeDatabase:
    """Ends time after so many changes."""

    def __init__(self, time: InstantTime, truth: Truth, most: int) -> None:
        self._time, self._truth, self._most = time, truth, most
        self.changes: list[Change] = []

    async def change(self, change: Change) -> int:
        self.changes.append(change)
        if len(self.changes) == self._most:
            self._time.end()
        now_us = self._time.now_us()
        assert self._truth.known_until_us(now_us) < now_us
        return now_us


async def test_every_change_is_in_the_truth_when_it_ends() -> None:
    time, truth = InstantTime(), Truth()
    database = FakeDatabase(time, truth, most=20)
    truth.begin_with("ann", ANN.columns, 0)
    application = Application(Profiles(Random(1), [ANN]), database, truth, {"ann": None, "ben": None}, time)
    await application.run(Random(1), devices=2)
    assert len(database.changes) == sum(truth.changes.values()) == 20
    assert truth.newest == database.changes[-1]
    assert truth.known_until_us(10**9) == 10**9


async def test_there_is_a_change_even_if_time_was_over_at_once() -> None:
    time, truth = InstantTime(), Truth()
    time.end()
    database = FakeDatabase(time, truth, most=1)
    await Application(Profiles(Random(1), [ANN]), database, truth, {"ann": None}, time).run(Random(1), 1)
    assert len(database.changes) == 1


async def test_nothing_is_changed_while_nobody_is_here() -> None:
    time, truth = InstantTime(), Truth()
    database = FakeDatabase(time, truth, most=1)
    running = asyncio.create_task(Application(Profiles(Random(1), []), database, truth, {}, time).run(Random(1), 1))
    for _ in range(10):
        await asyncio.sleep(0)
    time.end()
    await running
    assert database.changes == []
