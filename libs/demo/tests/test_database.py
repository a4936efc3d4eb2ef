import time
from pathlib import Path

import pytest
from penstock.demo.database import SETTINGS, Database, DatabaseError, make_profiles
from penstock.demo.profiles import Change, Kind, Profile
from penstock.embedded.postgres import start_postgres
from penstock.embedded.supervisor import Supervisor

ANN, BEN, CYD = (Profile(name.lower(), name, "DE", "pro") for name in ("Ann", "Ben", "Cyd"))


def now_us() -> int:
    return time.time_ns() // 1000


async def test_changes_are_committed_and_the_database_says_when(tmp_path: Path) -> None:
    changes = (
        Change(Kind.INSERT, (BEN, CYD)),
        Change(Kind.UPDATE, (ANN._replace(plan="free"),)),
        Change(Kind.DELETE, (BEN,)),
    )
    with Supervisor(tmp_path) as supervisor:
        postgres = start_postgres(supervisor, settings=SETTINGS)
        make_profiles(postgres, [ANN])
        async with Database(postgres) as database:
            for change in changes:
                before_us = now_us()
                assert before_us <= await database.change(change) <= now_us()
            assert await database.rows() == {"ann": ANN._replace(plan="free").columns, "cyd": CYD.columns}
            with pytest.raises(DatabaseError, match="DELETE ben: 0 rows were changed instead of 1"):
                await database.change(Change(Kind.DELETE, (BEN,)))
