"""The real server: what it promises to clients, also after kill -9."""

import os
from pathlib import Path

import psycopg
import pytest
from penstock.embedded.ports import is_listening
from penstock.embedded.postgres import Postgres, answers, start_postgres
from penstock.embedded.supervisor import Supervisor


def count(server: Postgres) -> object:
    with server.connect() as connection:
        return connection.execute("SELECT count(*) FROM events").fetchone()


def test_what_was_committed_survives_kill_9_and_what_was_not_is_gone(supervisor: Supervisor) -> None:
    server = start_postgres(supervisor)
    connection = server.connect()
    connection.execute("CREATE TABLE events (id int PRIMARY KEY)")
    for life in range(3):
        for number in range(100):
            connection.execute("INSERT INTO events VALUES (%s)", [life * 100 + number])
        connection.execute("BEGIN")
        connection.execute("INSERT INTO events VALUES (-1)")
        supervisor.kill(server.name)
        supervisor.restart(server.name)  # at once, while processes of the last life may still end
        connection = server.connect()
        assert connection.execute("SELECT count(*) FROM events").fetchone() == ((life + 1) * 100,)


def test_it_stops_in_order_although_a_client_is_connected(tmp_path: Path) -> None:
    told: list[str] = []
    with Supervisor(tmp_path, told.append) as supervisor:
        server = start_postgres(supervisor)
        connection = server.connect()
        assert supervisor.end(server.name) == 0
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    assert told == []  # nobody had to be killed
    assert not is_listening(server.port)
    assert not (tmp_path / "postgres" / "data" / "postmaster.pid").exists()


def test_data_and_password_are_those_of_the_state_folder(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as supervisor:
        first = start_postgres(supervisor)
        with first.connect() as connection:
            connection.execute("CREATE TABLE events (id int PRIMARY KEY)")
    with Supervisor(tmp_path) as supervisor:
        again = start_postgres(supervisor)
        assert count(again) == (0,)
        assert again.password == first.password
        stranger = Postgres(again.host, again.port, again.user, "guessed", again.database, again.name)
        assert "password authentication failed" in (answers(stranger)() or "let in")


def test_it_can_be_captured_from(supervisor: Supervisor) -> None:
    with start_postgres(supervisor).connect() as connection:
        assert connection.execute("SHOW wal_level").fetchone() == ("logical",)
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to become somebody else")
def test_it_does_not_run_as_root_and_its_private_folder_stays_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with Supervisor(tmp_path / "state") as supervisor:
        server = start_postgres(supervisor)
        assert Path(f"/proc/{supervisor.pid(server.name)}").stat().st_uid != 0
        assert tmp_path.stat().st_mode & 0o777 == 0o700
