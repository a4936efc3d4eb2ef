"""A real database, read by the real Debezium: the table is what SELECT says, whatever the connector leaves out."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest
from confluent_kafka import Consumer, TopicPartition
from penstock.embedded.captures import Captures
from penstock.embedded.debezium import Cdc
from penstock.enrichment.intake import Position, SkipReason, TableRows, Translator
from penstock.enrichment.tables import History, Status, Table, change_of
from penstock.pipeline import Table as TableSection

PROFILES = "public.profiles"
READ_WITHIN_S = 60.0
BIG = 12_000
CREATE = """
CREATE TABLE profiles (
    id int, region text, name text, bio text, balance numeric, born date, seen timestamptz, raw bytea, ok boolean,
    score float8, doc jsonb, tags text[], numbers int[], PRIMARY KEY (region, id))
"""
# As the intake writes texts: what PostgreSQL would say itself, but for dates and times, which are Debezium's.
SELECT = """
SELECT region || '/' || id, jsonb_strip_nulls(jsonb_build_object(
    'id', id::text, 'region', region, 'name', name, 'bio', bio, 'balance', CASE balance WHEN 'NaN' THEN 'NAN'
    ELSE balance::text END, 'born', born || 'Z', 'seen', CASE seen WHEN 'infinity' THEN 'infinity'
    ELSE to_char(seen, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') END, 'raw', encode(raw, 'base64'), 'ok', ok::text,
    'score', score::text, 'doc', doc::text, 'tags', replace(to_json(tags)::text, ', ', ','),
    'numbers', replace(to_json(numbers)::text, ', ', ',')))
FROM profiles
"""
Connection = psycopg.Connection[tuple[object, ...]]


def fill(connection: Connection) -> None:
    connection.execute(
        "INSERT INTO profiles SELECT n, 'eu', 'name ' || n, repeat(md5(n::text), %s / 32), n + 0.340, '1990-02-03',"
        " '2026-01-02T03:04:05Z', '\\x0102', n %% 2 = 0, 1.5, '{\"a\": 1}', ARRAY['x', 'y'], ARRAY[1, 2]"
        " FROM generate_series(1, 6) n",
        [BIG],
    )
    connection.execute(
        "INSERT INTO profiles (id, region, balance, seen, score) VALUES (7, 'us', 'NaN', 'infinity', 'NaN')"
    )


def none(connection: Connection) -> None:
    """What was there before Debezium came."""


def change(connection: Connection) -> None:
    connection.execute("UPDATE profiles SET name = 'ann' WHERE id = 1")  # leaves the bio out
    connection.execute("UPDATE profiles SET id = 20 WHERE id = 2")  # so does the create of 20
    connection.execute("DELETE FROM profiles WHERE id = 3")
    with connection.transaction():
        connection.execute("UPDATE profiles SET bio = repeat(md5('new'), 400) WHERE id = 4")
        connection.execute("UPDATE profiles SET region = 'us' WHERE id = 4")
        connection.execute("UPDATE profiles SET name = 'dan' WHERE id = 4")
    connection.execute("UPDATE profiles SET bio = NULL, tags = NULL WHERE id = 5")
    connection.execute(
        "UPDATE profiles SET tags = (SELECT array_agg(md5(n::text)) FROM generate_series(1, 900) n)"
        ", numbers = (SELECT array_agg(n * 7919) FROM generate_series(1, 9000) n) WHERE id = 6"
    )
    connection.execute("UPDATE profiles SET name = 'large arrays' WHERE id = 6")
    connection.execute("SELECT pg_logical_emit_message(true, 'px', 'hello')")


def empty_and_refill(connection: Connection) -> None:
    connection.execute("TRUNCATE profiles")
    connection.execute("INSERT INTO profiles (id, region, name) VALUES (1, 'eu', 'again')")


@pytest.mark.parametrize("helped", [True, False], ids=["full rows", "values left out"])
def test_the_table_is_what_select_says(cdc: Captures, *, helped: bool) -> None:
    with cdc.postgres.connect() as connection:
        connection.execute(CREATE)
        fill(connection)
        with capturing(cdc, helped=helped) as topic, closing(Follower(cdc.kafka.bootstrap, topic)) as follower:
            for step in (none, change, empty_and_refill):
                step(connection)
                follower.until({str(key): row for key, row in connection.execute(SELECT).fetchall()})
    counts = follower.translator.counts
    assert counts.from_snapshot == 7
    assert counts.truncates == 1
    assert counts.columns_unknown == 0
    assert (counts.columns_kept == 0) == helped
    assert not counts.refused
    assert counts.skipped == {SkipReason.TOMBSTONE: 2 * 3, SkipReason.DUPLICATE: counts.upserts + counts.deletes + 1}
    assert follower.table.newest("eu/3").status is Status.DELETED


@contextmanager
def capturing(cdc: Captures, *, helped: bool) -> Iterator[str]:
    """With all columns in every change; or as Debezium comes, with a mark where a value was not logged."""
    if helped:
        cdc.capture(PROFILES)
        yield cdc.topic(PROFILES)
        return
    name = f"{cdc.postgres.database}_bare"
    bare = Cdc(
        (PROFILES,), cdc.topic_prefix, name, full_rows=False, settings={"reselect.reselect.unavailable.values": "false"}
    )
    cdc.connect.add(name, bare.configuration(cdc.postgres))
    try:
        yield bare.topic(cdc.postgres.database, PROFILES)
    finally:
        cdc.connect.remove(name)


class Follower:
    """Translates a topic from its beginning, every record twice, and applies what comes of it."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        section = {"source": {"debezium": {"topic": topic}}, "key": ("region", "id")}
        self.table = Table("profiles", History(versions_max=100, age_us_max=10**15))
        self.translator = Translator("profiles", TableSection.model_validate(section), TableRows(self.table))
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "none", "fetch.wait.max.ms": 50, "log_level": 0}
        )
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self._changes = 0

    def until(self, expected: dict[Any, Any]) -> None:
        deadline = time.monotonic() + READ_WITHIN_S
        while differences := {str(item)[:200] for item in _flat(self.content()) ^ _flat(expected)}:
            assert time.monotonic() < deadline, "\n".join(sorted(differences))
            record: Any = self._consumer.poll(0.2)
            if record is not None and record.error() is None:
                self._take(record.key(), record.value(), Position(record.topic(), record.partition(), record.offset()))

    def content(self) -> dict[str, dict[str, str]]:
        found = {key: self.table.newest(key) for key in [*self.table.keys()]}
        return {key: dict(row.columns) for key, row in found.items() if row.status is Status.MATCHED}

    def close(self) -> None:
        self._consumer.close()

    def _take(self, key: bytes | None, value: bytes | None, place: Position) -> None:
        translation = self.translator.translate(key, value, place)
        assert translation.refusal is None
        for change in translation.changes:
            self.table.apply(change_of(change), 0, self._changes)
            self._changes += 1
        self.translator.committed()
        assert not self.translator.translate(key, value, place).changes


def _flat(content: dict[str, dict[str, str]]) -> set[tuple[str, str, str]]:
    return {(key, column, value) for key, row in content.items() for column, value in row.items()}
