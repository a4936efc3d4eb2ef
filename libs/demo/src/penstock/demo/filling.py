"""Waits until what there is before the first device has come through the pipeline.

In:  rows of the database, and who follows whom. Out: enrichment's table has the rows; timelines know the followers.
Each within a limit; a stop that is requested meanwhile ends it.
"""

import time
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

import grpc
from penstock.client import Plaintext, Timelines, TimelinesError
from penstock.demo.joins import TABLE
from penstock.demo.lookups import Lookups
from penstock.demo.profiles import Profile
from penstock.demo.truth import Truth, Valid
from penstock.embedded.errors import EmbeddedError, StopRequestedError
from penstock.embedded.services import Service
from penstock.embedded.supervisor import Supervisor

FILLED_WITHIN_S = 180.0
_ASK_EVERY_S = 0.1

_T = TypeVar("_T")


class NotFilledError(EmbeddedError):
    """What there was at the beginning did not come through."""


def fill_table(supervisor: Supervisor, enrichment: Service, rows: Sequence[Profile], truth: Truth) -> int:
    """How many rows; the truth begins with them, each since the time that enrichment states."""
    with Lookups(enrichment.address, TABLE) as lookups:
        wanted = f"the table {TABLE} does not have the {len(rows):,} rows of the database"
        versions = _until(supervisor, lambda: _versions(lookups, rows), wanted)
    for row in rows:
        truth.begin_with(row.user, row.columns, versions[row.user].since_us)
    return len(versions)


def fill_timelines(supervisor: Supervisor, timeline: Service, followers: Collection[str]) -> int:
    """How many users have timelines, which are still empty."""
    with Timelines(timeline.address, security=Plaintext()) as timelines:
        wanted = f"timelines do not know the first {len(followers):,} users"
        return _until(supervisor, lambda: _users(timelines, len(followers)), wanted)


def _until(supervisor: Supervisor, look: Callable[[], _T | None], otherwise: str) -> _T:
    deadline = time.monotonic() + FILLED_WITHIN_S
    while (found := look()) is None:
        if supervisor.wait(_ASK_EVERY_S):
            raise StopRequestedError("stopped while starting, as requested")
        if time.monotonic() > deadline:
            advice = "is this machine too busy? Try again with fewer DEVICES"
            raise NotFilledError(f"{otherwise} after {FILLED_WITHIN_S:.0f} s: {advice}")
    return found


def _versions(lookups: Lookups, rows: Sequence[Profile]) -> dict[str, Valid] | None:
    """None: they have not all come yet."""
    try:
        return lookups.newest(row.user for row in rows) if lookups.rows() >= len(rows) else None
    except grpc.RpcError:
        return None  # whether it still lives, the supervisor knows


def _users(timelines: Timelines, wanted: int) -> int | None:
    """None: they are not all there yet."""
    try:
        users = sum(partition.users for partition in timelines.describe().partitions)
    except TimelinesError:
        return None  # whether it still lives, the supervisor knows
    return users if users >= wanted else None
