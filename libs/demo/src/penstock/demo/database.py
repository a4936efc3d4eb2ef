"""The application's database: the table of profiles in PostgreSQL, changed by ordinary SQL.

In:  rows to begin with; changes. Out: for each change the time of its commit, as PostgreSQL itself recorded it.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from penstock.demo.profiles import Change, Kind, Profile
from penstock.embedded.postgres import Postgres
from psycopg import AsyncConnection

NAME = "public.profiles"
# So that the database can be asked when a transaction was committed.
SETTINGS = {"track_commit_timestamp": "on"}
STATEMENT_TIMEOUT_MS = 60_000
CONNECT_TIMEOUT_S = 60

# As pipeline.yaml says it.
_TABLE = 'CREATE TABLE profiles ("user" text PRIMARY KEY, name text, country text, plan text, bio text)'
_BIO = "Nothing in the pipeline reads this. "
_VALUES = "SELECT u, n, c, p, %s FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[]) AS row (u, n, c, p)"
_INSERT = f'INSERT INTO profiles ("user", name, country, plan, bio) {_VALUES}'
_UPDATE = 'UPDATE profiles SET name = %s, country = %s, plan = %s WHERE "user" = %s'
_DELETE = 'DELETE FROM profiles WHERE "user" = %s'
_TRANSACTION = "RETURNING pg_current_xact_id()::xid::text"
_COMMITTED = "SELECT (extract(epoch FROM pg_xact_commit_timestamp(%s::text::xid)) * 1000000)::bigint"


class DatabaseError(Exception):
    """The database did not do what it was told: a bug in the demo."""


def make_profiles(postgres: Postgres, rows: Sequence[Profile]) -> None:
    """The table, with these rows in it."""
    with postgres.connect() as connection:
        connection.execute(_TABLE)
        connection.execute(_INSERT, _inserted(rows))


class Database:
    """Use as an asynchronous context manager, inside of an event loop."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres
        self._connection: AsyncConnection[tuple[object, ...]] | None = None

    async def change(self, change: Change) -> int:
        """Commits it; returns when that was."""
        assert self._connection is not None
        statement, values = _statement(change)
        changed = await (await self._connection.execute(f"{statement} {_TRANSACTION}".encode(), values)).fetchall()
        if len(changed) != len(change.rows):
            raise DatabaseError(f"{change}: {len(changed)} rows were changed instead of {len(change.rows)}")
        committed = await (await self._connection.execute(_COMMITTED, [changed[0][0]])).fetchone()
        if committed is None or not isinstance(committed[0], int):
            raise DatabaseError(f"{change}: PostgreSQL does not say when it was committed, but {committed}")
        return committed[0]

    async def rows(self) -> dict[str, dict[str, str]]:
        """What the table holds now: the columns that the pipeline keeps, by user."""
        assert self._connection is not None
        cursor = await self._connection.execute('SELECT "user", name, country, plan FROM profiles')
        profiles = (Profile(*(str(value) for value in row)) for row in await cursor.fetchall())
        return {profile.user: profile.columns for profile in profiles}

    async def __aenter__(self) -> Self:
        options = f"-c statement_timeout={STATEMENT_TIMEOUT_MS}"
        self._connection = await AsyncConnection.connect(
            self._postgres.dsn, autocommit=True, options=options, connect_timeout=CONNECT_TIMEOUT_S
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection is not None:
            await self._connection.close()


def _statement(change: Change) -> tuple[str, list[object]]:
    row = change.rows[0]
    if change.kind is Kind.INSERT:
        return _INSERT, _inserted(change.rows)
    if change.kind is Kind.UPDATE:
        return _UPDATE, [row.name, row.country, row.plan, row.user]
    return _DELETE, [row.user]


def _inserted(rows: Sequence[Profile]) -> list[object]:
    columns = zip(*rows, strict=True)
    return [_BIO * 3, *(list(column) for column in columns)]
