"""Changes a table by SQL without pause, and writes down what it changed, in the order of the commits.

One connection, so that there is one order. The ledger is all that is believed of what the table's log should hold.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import psycopg
from penstock.tables.v1.row_change_pb2 import OP_DELETE, OP_TRUNCATE, OP_UPSERT, RowChange

TRUNCATE_EVERY = 100
TOGETHER_EVERY = 7
Connection = psycopg.Connection[tuple[object, ...]]


class Entry(NamedTuple):
    """One change of one row; of all rows, where it is a truncate."""

    key: str
    op: int
    name: str = ""


def in_order(change: RowChange) -> tuple[int, bytes, bool]:
    """Sorts as the database made them; of a change of the key, which is one entry of its log, the delete first."""
    return change.version.valid_from_us, change.version.position, change.op != OP_DELETE


class SqlLedger:
    """Writes table `profiles (user_id, name, bio)`, rows k0, k1 and so on; all have one bio, which never changes."""

    def __init__(self, connection: Connection, bio: str, *, keys: int, pause_s: float) -> None:
        self.entries: list[Entry] = []
        self._connection = connection
        self._pause_s = pause_s
        self._bio = bio
        self._random = random.Random(4)
        self._stop = threading.Event()
        self._names: dict[str, str] = {}
        self._free = [f"k{number}" for number in range(keys)]
        self._count = 0

    @contextmanager
    def written(self) -> Iterator[None]:
        """Meanwhile the table is changed. What goes wrong in there is raised here."""
        faults: list[BaseException] = []

        def work() -> None:
            try:
                while not self._stop.wait(self._pause_s):
                    self._transaction()
            except BaseException as error:  # noqa: BLE001 -- raised below, in the thread that can tell of it
                faults.append(error)

        thread = threading.Thread(target=work, name="sql")
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()
        if faults:
            raise faults[0]

    def _transaction(self) -> None:
        """Entries count once they are committed."""
        self._count += 1
        entries: list[Entry] = []
        with self._connection.transaction():
            for _ in range(3 if self._count % TOGETHER_EVERY == 0 else 1):
                entries += self._change()
        self.entries += entries

    def _change(self) -> list[Entry]:
        if self._count % TRUNCATE_EVERY == 0:
            return self._truncate()
        choice = self._random.random()
        if not self._names or (choice < 0.3 and self._free):
            return self._insert()
        key = self._random.choice(sorted(self._names))
        if choice < 0.7:
            return self._update(key)
        return self._delete(key) if choice < 0.85 or not self._free else self._rename(key)

    def _insert(self) -> list[Entry]:
        key = self._free.pop(self._random.randrange(len(self._free)))
        name = self._names[key] = self._name()
        self._connection.execute("INSERT INTO profiles VALUES (%s, %s, %s)", [key, name, self._bio])
        return [Entry(key, OP_UPSERT, name)]

    def _update(self, key: str) -> list[Entry]:
        name = self._names[key] = self._name()
        self._connection.execute("UPDATE profiles SET name = %s WHERE user_id = %s", [name, key])
        return [Entry(key, OP_UPSERT, name)]

    def _delete(self, key: str) -> list[Entry]:
        del self._names[key]
        self._free.append(key)
        self._connection.execute("DELETE FROM profiles WHERE user_id = %s", [key])
        return [Entry(key, OP_DELETE)]

    def _rename(self, key: str) -> list[Entry]:
        """A change of the key: the row goes, and comes back as another."""
        to = self._free.pop(self._random.randrange(len(self._free)))
        name = self._names[to] = self._names.pop(key)
        self._free.append(key)
        self._connection.execute("UPDATE profiles SET user_id = %s WHERE user_id = %s", [to, key])
        return [Entry(key, OP_DELETE), Entry(to, OP_UPSERT, name)]

    def _truncate(self) -> list[Entry]:
        self._free += sorted(self._names)
        self._names.clear()
        self._connection.execute("TRUNCATE profiles")
        return [Entry("", OP_TRUNCATE)]

    def _name(self) -> str:
        return f"{len(self.entries)}-{self._random.randrange(10**9)}"
