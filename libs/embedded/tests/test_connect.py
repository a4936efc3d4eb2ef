"""PostgreSQL, Debezium, Connect and Kafka, all of them real: what arrives, and what arrives after kill -9."""

import secrets
from collections.abc import Callable
from typing import Any, Protocol

import pytest
from penstock.embedded.captures import Captures
from penstock.embedded.debezium import Cdc
from penstock.embedded.errors import ChildFailedError, ConnectorError
from penstock.embedded.pytest_plugin import OwnCdc

LARGE = secrets.token_hex(6000)  # random: PostgreSQL stores it outside of the row, however well it compresses
UNAVAILABLE = "__debezium_unavailable_value"
PROFILES = "public.profiles"


class Change(Protocol):
    key: Any
    value: Any
    headers: dict[str, Any]

    @property
    def op(self) -> str: ...
    @property
    def lsn(self) -> int: ...


ReadChanges = Callable[[str, str, Callable[[list[Change]], bool]], list[Change]]


def make_profiles(captures: Captures) -> None:
    with captures.postgres.connect() as connection:
        connection.execute("CREATE TABLE profiles (id int PRIMARY KEY, name text, bio text, balance numeric(12, 3))")


def insert(captures: Captures, ids: range) -> None:
    """A transaction per row."""
    with captures.postgres.connect() as connection:
        for number in ids:
            connection.execute("INSERT INTO profiles VALUES (%s, 'x')", [number])


def ids_of(changes: list[Change]) -> set[int]:
    return {change.key["id"] for change in changes}


def test_every_kind_of_change_arrives_with_position_and_commit_time(cdc: Captures, read_changes: ReadChanges) -> None:
    make_profiles(cdc)
    with cdc.postgres.connect() as connection:
        connection.execute("INSERT INTO profiles VALUES (1, 'ann', 'old', 12.340)")
        cdc.capture(PROFILES)
        topic = cdc.topic(PROFILES)
        assert topic == f"{cdc.topic_prefix}cdc.{cdc.postgres.database}.profiles"
        [snapshot] = read_changes(cdc.kafka.bootstrap, topic, lambda changes: len(changes) == 1)
        assert (snapshot.op, snapshot.key) == ("r", {"id": 1})
        assert snapshot.value["after"] == {"id": 1, "name": "ann", "bio": "old", "balance": "12.340"}
        connection.execute("INSERT INTO profiles VALUES (2, 'bob', NULL, 'NaN')")
        connection.execute("UPDATE profiles SET name = 'bob2' WHERE id = 2")
        connection.execute("DELETE FROM profiles WHERE id = 2")
        connection.execute("TRUNCATE profiles")
    changes = read_changes(cdc.kafka.bootstrap, topic, lambda changes: "t" in [change.op for change in changes])
    assert [change.op for change in changes] == ["r", "c", "u", "d", "tombstone", "t"]
    assert changes[1].value["after"] == {"id": 2, "name": "bob", "bio": None, "balance": "NAN"}
    assert changes[2].value["after"]["name"] == "bob2"
    assert changes[3].value["before"]["id"] == changes[4].key["id"] == 2
    assert changes[5].key is None
    positions = [change.lsn for change in changes if change.value is not None]
    assert positions == sorted(set(positions))
    commits = [change.value["source"]["ts_us"] for change in changes if change.value is not None]
    assert commits == sorted(set(commits))


@pytest.mark.parametrize("full_rows", [True, False], ids=["full rows", "asked for"])
def test_a_changed_key_carries_the_large_column_along(
    cdc: Captures, read_changes: ReadChanges, *, full_rows: bool
) -> None:
    make_profiles(cdc)
    with cdc.postgres.connect() as connection:
        connection.execute("INSERT INTO profiles VALUES (1, 'ann', %s)", [LARGE])
        cdc.capture(PROFILES, full_rows=full_rows)
        read_changes(cdc.kafka.bootstrap, cdc.topic(PROFILES), lambda changes: len(changes) == 1)
        connection.execute("UPDATE profiles SET name = 'ann2' WHERE id = 1")
        read_changes(cdc.kafka.bootstrap, cdc.topic(PROFILES), lambda changes: len(changes) == 2)
        connection.execute("UPDATE profiles SET id = 7 WHERE id = 1")
    changes = read_changes(cdc.kafka.bootstrap, cdc.topic(PROFILES), lambda changes: len(changes) == 5)
    seen = [(change.op, change.key["id"]) for change in changes]
    assert seen == [("r", 1), ("u", 1), ("d", 1), ("tombstone", 1), ("c", 7)]
    assert changes[1].value["after"]["bio"] == changes[4].value["after"]["bio"] == LARGE
    assert changes[2].lsn == changes[4].lsn  # one change of the database, three records
    assert changes[4].headers["__debezium.oldkey"] == b'{"id":1}'


@pytest.mark.parametrize(("full_rows", "bio"), [(True, LARGE), (False, UNAVAILABLE)], ids=["full rows", "asked for"])
def test_a_row_that_is_gone_cannot_be_asked(
    cdc: Captures, read_changes: ReadChanges, bio: str, *, full_rows: bool
) -> None:
    """Why `full_rows` is the default."""
    make_profiles(cdc)
    with cdc.postgres.connect() as connection:
        connection.execute("INSERT INTO profiles VALUES (1, 'ann', %s)", [LARGE])
        cdc.capture(PROFILES, full_rows=full_rows)
        read_changes(cdc.kafka.bootstrap, cdc.topic(PROFILES), lambda changes: len(changes) == 1)
        with connection.transaction():
            connection.execute("UPDATE profiles SET name = 'ann2'")
            connection.execute("DELETE FROM profiles")
    changes = read_changes(cdc.kafka.bootstrap, cdc.topic(PROFILES), lambda changes: len(changes) == 4)
    assert changes[1].value["after"]["name"] == "ann2"
    assert changes[1].value["after"]["bio"] == bio


def test_an_idle_database_says_so(cdc: Captures, read_changes: ReadChanges) -> None:
    make_profiles(cdc)
    captured = cdc.capture(PROFILES)
    topic = captured.heartbeat_topic(cdc.postgres.database)
    beats = read_changes(cdc.kafka.bootstrap, topic, lambda changes: len(changes) == 3)
    assert all(beat.value.keys() == {"ts_ms"} for beat in beats)


def test_nothing_is_lost_when_connect_or_the_database_is_killed(own_cdc: OwnCdc, read_changes: ReadChanges) -> None:
    make_profiles(own_cdc)
    insert(own_cdc, range(10))
    own_cdc.capture(PROFILES)

    def read(count: int) -> list[Change]:
        wanted = set(range(count))
        return read_changes(own_cdc.kafka.bootstrap, own_cdc.topic(PROFILES), lambda found: ids_of(found) == wanted)

    supervisor, connect, postgres = own_cdc.supervisor, own_cdc.connect.name, own_cdc.postgres.name
    read(10)
    insert(own_cdc, range(10, 200))
    supervisor.kill(connect)  # somewhere in between
    insert(own_cdc, range(200, 300))
    supervisor.restart(connect)
    read(300)

    insert(own_cdc, range(300, 400))
    supervisor.kill(postgres)
    supervisor.restart(postgres)
    with own_cdc.postgres.connect() as connection:
        assert connection.execute("SELECT count(*) FROM profiles").fetchone() == (400,)
    insert(own_cdc, range(400, 410))
    changes = read(410)

    supervisor.check()  # the connector found the database again by itself
    inserts = {(change.key["id"], change.lsn) for change in changes if change.op == "c"}
    assert len(inserts) == len(dict(inserts)), "what came twice has one position"
    # A second snapshot would be right, too, but only if the first one's end had not been noted when Connect was killed.
    assert {change.op for change in changes} <= {"r", "c"}


def test_a_connector_that_is_refused_is_told_with_the_reason(cdc: Captures) -> None:
    nowhere = {**Cdc((PROFILES,)).configuration(cdc.postgres), "database.port": "1"}
    with pytest.raises(ConnectorError, match=r"refuses the connector 'nowhere'.*127\.0\.0\.1:1 refused"):
        cdc.connect.add("nowhere", nowhere)


def test_a_connector_that_fails_later_ends_the_whole_with_its_trace(own_cdc: OwnCdc, read_changes: ReadChanges) -> None:
    """What `compact` keeps from happening: a truncation has no key, and a compacted topic refuses it."""
    make_profiles(own_cdc)
    insert(own_cdc, range(1))
    broken = Cdc((PROFILES,), compact=True, settings={"skipped.operations": "none"})
    own_cdc.connect.add("broken", broken.configuration(own_cdc.postgres))
    topic = broken.topic(own_cdc.postgres.database, PROFILES)
    read_changes(own_cdc.kafka.bootstrap, topic, lambda changes: len(changes) == 1)
    own_cdc.supervisor.check()
    with own_cdc.postgres.connect() as connection:
        connection.execute("TRUNCATE profiles")
    with pytest.raises(ChildFailedError, match=r"task 0 of broken is FAILED(.|\n)*cannot accept message without key"):
        own_cdc.supervisor.wait(timeout_s=60)
