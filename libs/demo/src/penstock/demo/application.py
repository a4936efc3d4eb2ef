"""The application beside the devices: it changes profiles in its database while events flow.

In:  who is here, time. Out: SQL in PostgreSQL, and each change with the time of its commit in the truth.
"""

from collections.abc import Collection
from dataclasses import dataclass
from random import Random
from typing import Protocol

from penstock.demo.device import Time
from penstock.demo.profiles import Change, Profiles, pauses_us
from penstock.demo.truth import Truth

# A busy machine may catch up with so much of what should have been changed already.
_BEHIND_US_MAX = 1_000_000


class Commits(Protocol):
    async def change(self, change: Change) -> int: ...


@dataclass(frozen=True)
class Application:
    """`present`: the users who are here, kept up to date by others."""

    profiles: Profiles
    database: Commits
    truth: Truth
    present: Collection[str]
    time: Time

    async def run(self, random: Random, devices: int) -> None:
        """Until time is over; nothing is under way then. The shortest demo on the slowest machine has one change."""
        due_us = self.time.now_us()
        for pause_us in pauses_us(random, devices):
            due_us = max(due_us + pause_us, self.time.now_us() - _BEHIND_US_MAX)
            await self.time.wait_us(due_us - self.time.now_us())
            if self.time.is_over and (self.truth.newest is not None or not self.present):
                return
            if (change := self.profiles.next(self.present)) is not None:
                self.truth.begin(self.time.now_us())
                self.truth.committed(change, await self.database.change(change))
