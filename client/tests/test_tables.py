from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest
from penstock.client import (
    Lookup,
    NoSuchTableError,
    NotYetVisibleError,
    Place,
    Plaintext,
    RowStatus,
    Tables,
    TablesError,
)
from penstock.client.testing import FakeIngest, FakeTables
from penstock.events.v1.event_pb2 import ConsistencyToken, Position

AHEAD = ConsistencyToken(positions=[Position(topic="tables.profiles.v1", partition=0, offset=99)])


@pytest.fixture
def tables(fake_tables: FakeTables) -> Iterator[Tables]:
    with Tables(fake_tables.address, security=Plaintext(), timeout_s=30) as tables:
        yield tables


def test_a_row_as_of_a_time(fake_tables: FakeTables, tables: Tables) -> None:
    fake_tables.put("profiles", "ada", {"name": "Ada"}, valid_from_us=10)
    fake_tables.put("profiles", "ada", {"name": "Ada L."}, valid_from_us=20)
    fake_tables.delete("profiles", "ada", valid_from_us=30)
    row = tables.lookup("profiles", "ada", as_of=29)
    assert (row.found, row.columns, row.valid_from_us) == (True, {"name": "Ada L."}, 20)
    assert row.applied == (Place("tables.profiles.v1", 0, 2),)
    assert tables.lookup("profiles", "ada", as_of=9).status is RowStatus.MISSING
    assert tables.lookup("profiles", "ada").status is RowStatus.DELETED
    fake_tables.history_from_us = 15
    assert tables.lookup("profiles", "ada", as_of=12).status is RowStatus.HISTORY_EVICTED


def test_many_rows_in_the_order_asked(fake_tables: FakeTables, tables: Tables) -> None:
    fake_tables.put("profiles", "ada", {"name": "Ada"}, valid_from_us=10)
    fake_tables.put("follows", "bob/ada", {}, valid_from_us=10)
    lookups = [Lookup("follows", ("bob", "ada")), Lookup("profiles", "bob"), Lookup("profiles", "ada", as_of=10)]
    assert [row.found for row in tables.batch_lookup(lookups)] == [True, False, True]


def test_a_token_is_reflected_or_the_answer_is_marked(fake_tables: FakeTables, tables: Tables) -> None:
    token = fake_tables.put("profiles", "ada", {}, valid_from_us=10)
    row = tables.lookup("profiles", "ada", consistency=token)
    assert (row.found, row.stale) == (True, False)
    with pytest.raises(NotYetVisibleError) as error:
        tables.lookup("profiles", "ada", consistency=AHEAD)
    assert error.value.code == "FAILED_PRECONDITION"
    assert tables.lookup("profiles", "ada", consistency=AHEAD, allow_stale=True).stale
    assert tables.batch_lookup([Lookup("profiles", "ada")], consistency=AHEAD, allow_stale=True)[0].stale


def test_tables_are_described(fake_tables: FakeTables, tables: Tables) -> None:
    fake_tables.put("profiles", "ada", {}, valid_from_us=10)
    fake_tables.delete("profiles", "ada", valid_from_us=20)
    fake_tables.put("profiles", "bob", {}, valid_from_us=20)
    follows, profiles = tables.describe()
    assert (profiles.name, profiles.rows, profiles.versions, profiles.lag_records) == ("profiles", 1, 3, 0)
    assert tables.describe("follows") == [follows]
    assert follows.applied == ()


def test_a_table_that_is_not_there(tables: Tables) -> None:
    with pytest.raises(NoSuchTableError, match="no table 'posts'; there are: profiles, follows"):
        tables.lookup("posts", "p1")
    with pytest.raises(NoSuchTableError):
        tables.describe("posts")


def test_a_server_that_is_something_else(fake: FakeIngest) -> None:
    tables = Tables(fake.address, security=Plaintext(), timeout_s=30)
    with tables, pytest.raises(TablesError, match="is no enrichment service"):
        tables.describe()


def test_a_server_that_is_not_there() -> None:
    tables = Tables("127.0.0.1:1", security=Plaintext(), timeout_s=30)
    with tables, pytest.raises(TablesError, match=r"enrichment at 127\.0\.0\.1:1 answered UNAVAILABLE") as error:
        tables.describe()
    assert isinstance(error.value.__cause__, grpc.RpcError)


def test_wrong_arguments_fail_at_once() -> None:
    with pytest.raises(ValueError, match="is not an address"):
        Tables("127.0.0.1", security=Plaintext())
    with pytest.raises(ValueError, match="timeout_s must be greater than 0"):
        Tables("127.0.0.1:1", security=Plaintext(), timeout_s=0)
