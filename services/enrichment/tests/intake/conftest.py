"""Records as Debezium writes them, and a table that follows a translator the way the log's reader does."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from penstock.enrichment.intake import Position, TableRows, Translation, Translator
from penstock.enrichment.tables import Found, History, Status, Table, change_of
from penstock.pipeline import Table as TableSection
from penstock.tables.v1.row_change_pb2 import RowChange

TOPIC = "cdc.app.profiles"
FOREVER = 10**18
Record = tuple[bytes | None, bytes | None]


def section(key: str | tuple[str, ...] = "id", columns: tuple[str, ...] | None = None) -> TableSection:
    return TableSection.model_validate(
        {"source": {"debezium": {"topic": TOPIC}}, "key": key, **({"columns": columns} if columns else {})}
    )


class Debezium:
    """Records of one table. `lsn` and `ts` are what the record claims; a snapshot's `op` is r."""

    def row(
        self, op: str, key: dict[str, Any], after: dict[str, Any] | None, *, lsn: int, ts: int, snapshot: str = "false"
    ) -> Record:
        source = {"connector": "postgresql", "ts_us": ts, "lsn": lsn, "snapshot": snapshot}
        # Fabricated, as under the default replica identity: must never be looked at.
        before = None if op in "cr" else {**key, "name": "fabricated", "bio": "fabricated"}
        envelope = {"before": before, "after": after, "source": source, "transaction": None, "op": op, "ts_ms": 1}
        return dumped(key), dumped(envelope)

    def upsert(self, key: int, lsn: int, ts: int | None = None, op: str = "u", **columns: Any) -> Record:
        return self.row(op, {"id": key}, {"id": key, **columns}, lsn=lsn, ts=ts or lsn * 10)

    def read(self, key: int, lsn: int, ts: int, snapshot: str = "true", **columns: Any) -> Record:
        return self.row("r", {"id": key}, {"id": key, **columns}, lsn=lsn, ts=ts, snapshot=snapshot)

    def delete(self, key: int, lsn: int, ts: int | None = None) -> Record:
        return self.row("d", {"id": key}, None, lsn=lsn, ts=ts or lsn * 10)

    def tombstone(self, key: int) -> Record:
        return dumped({"id": key}), None

    def truncate(self, lsn: int, ts: int | None = None) -> Record:
        return None, self.row("t", {}, None, lsn=lsn, ts=ts or lsn * 10)[1]


def dumped(value: object) -> bytes:
    return json.dumps(value).encode()


@dataclass
class Intake:
    """A translator whose changes are logged and, when `apply` is called, applied to the table that it looks up."""

    translator: Translator
    table: Table
    log: list[RowChange] = field(default_factory=list)
    applied: int = 0
    _offset: int = 0

    def send(self, *records: Record, partition: int = 0) -> list[Translation]:
        """Translate, without committing."""
        return [self._one(record, partition) for record in records]

    def take(self, *records: Record, partition: int = 0) -> list[Translation]:
        """Translate, commit, apply: what happens when nothing lags."""
        translations = self.send(*records, partition=partition)
        self.commit(translations)
        self.apply()
        return translations

    def commit(self, translations: list[Translation]) -> None:
        self.log += [change for translation in translations for change in translation.changes]
        self.translator.committed()

    def apply(self) -> None:
        while self.applied < len(self.log):
            self.table.apply(change_of(self.log[self.applied]), 0, self.applied)
            self.applied += 1

    def row(self, key: str, t_us: int = FOREVER) -> dict[str, str] | None:
        """The columns; None where there is no row."""
        found = self.found(key, t_us)
        return dict(found.columns) if found.status is Status.MATCHED else None

    def found(self, key: str, t_us: int = FOREVER) -> Found:
        return self.table.as_of(key, t_us)

    def _one(self, record: Record, partition: int) -> Translation:
        self._offset += 1
        return self.translator.translate(*record, Position(TOPIC, partition, self._offset))


MakeIntake = Callable[..., Intake]


@pytest.fixture
def make_intake() -> MakeIntake:
    def make(table: Table | None = None, key: str | tuple[str, ...] = "id", **options: Any) -> Intake:
        columns = options.pop("columns", None)
        store = table or Table("profiles", History(versions_max=100, age_us_max=10**15))
        return Intake(Translator("profiles", section(key, columns), TableRows(store), **options), store)

    return make


@pytest.fixture
def intake(make_intake: MakeIntake) -> Intake:
    return make_intake()


@pytest.fixture
def debezium() -> Debezium:
    return Debezium()
