"""SQL in a real database, through a real Debezium, to the events: each has the row that was valid at its time."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from enrichment_stack import PATIENCE_S, EnrichmentStack, running, until
from penstock.client import Publisher, Reading
from penstock.embedded.captures import Captures
from penstock.embedded.errors import ChildDiedError
from penstock.embedded.pytest_plugin import OwnCdc
from penstock.embedded.supervisor import Supervisor
from penstock.events.v1.event_pb2 import ENRICHMENT_STATUS_DELETED, Event
from penstock.tables.v1.row_change_pb2 import OP_DELETE, OP_TRUNCATE, OP_UPSERT
from penstock.topics.content import content
from row_history import RowHistory, found_by
from sql_ledger import Entry, SqlLedger, in_order

PIPELINE = """
version: 1
tables:
  profiles:
    about: Users.
    source: {{debezium: {{topic: {topic}}}}}
    key: user_id
    columns: [name, bio]
    history: {{versions: 100, age: 30d}}
event_types:
  page.viewed:
    about: A user looked at a page.
    required: [user]
    key: user
enrichments:
  - {{event_type: page.viewed, table: profiles, on: user, as: user}}
"""
CREATE = b"CREATE TABLE profiles (user_id text PRIMARY KEY, name text, bio text)"
# Nothing in it repeats, so PostgreSQL cannot compress it and keeps it outside of the row (TOAST).
LARGE = random.Random(1).randbytes(8_000).hex()
TOASTED = "SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE oid = 'profiles'::regclass"
KILLS = 3
HOUR_US = 3_600_000_000
AROUND_US = 60_000_000


@dataclass
class Timeline:
    """A database's past, as it is made: SQL, what each row is from then on, and an event while it is so."""

    stack: EnrichmentStack
    publisher: Publisher
    rows: dict[str, RowHistory] = field(default_factory=dict)

    def commit(self, *statements: str, **rows: dict[str, str] | None) -> None:
        """Returns when the table has it. Its time must be that of the commit, by the clock of this very machine."""
        began_us = time.time_ns() // 1000
        self.stack.sql(*statements)
        ended_us = time.time_ns() // 1000
        (valid_from_us,) = {self._seen(key, columns, began_us) for key, columns in rows.items()}
        assert began_us <= valid_from_us <= ended_us
        for key, columns in rows.items():
            self.rows.setdefault(key, RowHistory()).add(valid_from_us, columns)
            self.publisher.publish("page.viewed", {"user": key})

    def _seen(self, key: str, columns: dict[str, str] | None, since_us: int) -> int:
        def is_there() -> bool:
            response = self.stack.lookup("profiles", key)
            return response.version.valid_from_us >= since_us and dict(response.columns) == (columns or {})

        until(is_there, lambda: (key, self.stack.lookup("profiles", key)))
        return self.stack.lookup("profiles", key).version.valid_from_us

    def intervals(self) -> Iterator[tuple[str, int, int]]:
        """Of each row: before it was there, between any two of its changes, after the last."""
        for key, row in self.rows.items():
            times = [valid_from_us for valid_from_us, _ in row.versions]
            yield key, times[0] - 2 * HOUR_US, times[0]
            for begin, end in zip(times, [*times[1:], time.time_ns() // 1000 + AROUND_US], strict=True):
                yield key, begin, end


def all_kinds_of_changes(timeline: Timeline) -> None:
    ann, big, bigger = {"name": "Ann", "bio": "b"}, {"name": "Big", "bio": LARGE}, {"name": "Bigger", "bio": LARGE}
    timeline.commit("INSERT INTO profiles VALUES ('ann', 'Ann', 'b')", ann=ann)
    timeline.commit(f"INSERT INTO profiles VALUES ('big', 'Big', '{LARGE}')", big=big)
    assert timeline.stack.select(TOASTED) != [(0,)]
    timeline.commit("UPDATE profiles SET name = 'Anna' WHERE user_id = 'ann'", ann={**ann, "name": "Anna"})
    timeline.commit("UPDATE profiles SET name = 'Bigger' WHERE user_id = 'big'", big=bigger)
    timeline.commit("UPDATE profiles SET user_id = 'vast' WHERE user_id = 'big'", big=None, vast=bigger)
    timeline.commit("DELETE FROM profiles WHERE user_id = 'ann'", ann=None)
    timeline.commit("UPDATE profiles SET bio = NULL WHERE user_id = 'old'", old={"name": "from the snapshot"})
    timeline.commit(
        "INSERT INTO profiles VALUES ('ann', 'A', 'b')",
        "UPDATE profiles SET name = 'B' WHERE user_id = 'ann'",
        "UPDATE profiles SET name = 'C' WHERE user_id = 'ann'",
        ann={"name": "C", "bio": "b"},
    )
    timeline.commit("TRUNCATE profiles", ann=None, vast=None, old=None)
    timeline.commit("INSERT INTO profiles VALUES ('ann', 'Ann again', 'b')", ann={"name": "Ann again", "bio": "b"})


WRITTEN = [
    ("old", OP_UPSERT), ("ann", OP_UPSERT), ("big", OP_UPSERT), ("ann", OP_UPSERT), ("big", OP_UPSERT),
    ("big", OP_DELETE), ("vast", OP_UPSERT), ("ann", OP_DELETE), ("old", OP_UPSERT), ("ann", OP_UPSERT),
    ("ann", OP_UPSERT), ("ann", OP_UPSERT), ("", OP_TRUNCATE), ("ann", OP_UPSERT),
]  # fmt: skip


@pytest.mark.parametrize("full_rows", [True, False], ids=["full rows", "default replica identity"])
def test_an_event_has_the_row_that_was_valid_at_its_time(
    cdc: Captures, topic_prefix: str, tmp_path: Path, *, full_rows: bool
) -> None:
    with cdc.postgres.connect() as connection:
        connection.execute(CREATE)
        connection.execute(b"INSERT INTO profiles VALUES ('old', 'from the snapshot', 'x')")
    cdc.capture("public.profiles", full_rows=full_rows)
    with running(cdc, topic_prefix, PIPELINE.format(topic=cdc.topic("public.profiles")), tmp_path) as stack:
        until(lambda: "old" in stack.rows("profiles", ["old"]))
        snapshot_us = stack.lookup("profiles", "old").version.valid_from_us
        with stack.publisher("phone") as publisher:
            timeline = Timeline(stack, publisher)
            timeline.rows["old"] = RowHistory([(snapshot_us, {"name": "from the snapshot", "bio": "x"})], True)
            all_kinds_of_changes(timeline)
            ask_everywhere(timeline)
        for event in newest(stack.log.events()).values():
            (enrichment,) = event.enrichments
            expected = timeline.rows[event.attributes["user"]].at(event.clock.corrected_us)
            assert found_by(enrichment) == expected, event
        check_table(stack)


def ask_everywhere(timeline: Timeline) -> None:
    """Publishes events of all those times, again and again until there is one of each by its corrected time.

    Which is a few milliseconds off, or more if this machine stalls between sending and receiving.
    """
    missing = set(timeline.intervals())

    def are_asked() -> bool:
        now_us = time.time_ns() // 1000
        asked = {}
        for key, begin_us, end_us in missing:
            middle = Reading((begin_us + min(end_us, now_us)) // 2)
            pending = timeline.publisher.publish("page.viewed", {"user": key}, occurred=middle)
            asked[pending.seq] = (key, begin_us, end_us)
        until(lambda: asked.keys() <= newest(timeline.stack.log.events()).keys())
        events = newest(timeline.stack.log.events())
        for seq, (key, begin_us, end_us) in asked.items():
            if begin_us <= events[seq].clock.corrected_us < end_us:
                missing.discard((key, begin_us, end_us))
        return not missing

    until(are_asked, lambda: f"there are no events within {missing}")


def newest(events: list[Event]) -> dict[int, Event]:
    """By number, each at its last revision. There is one device, and it was booted once."""
    found = {(event.seq, event.revision): event for event in events}
    assert len(found) == len(events), "an event came out twice"
    return {seq: event for (seq, _), event in sorted(found.items())}


def check_table(stack: EnrichmentStack) -> None:
    """What is served and what was written, against the database and against what was done to it."""
    rows = {str(key): {"name": name, "bio": bio} for key, name, bio in stack.select("SELECT * FROM profiles")}
    assert stack.rows("profiles", ["old", "ann", "big", "vast"]) == rows
    assert stack.describe("profiles").rows == len(rows)
    written = sorted(stack.log.changes("profiles"), key=in_order)
    assert [(change.key, change.op) for change in written] == WRITTEN


def test_debezium_is_killed_and_no_row_is_lost_or_doubled(own_cdc: OwnCdc, tmp_path: Path) -> None:
    with own_cdc.postgres.connect() as connection:
        connection.execute(CREATE)
        connection.execute(b"INSERT INTO profiles VALUES ('ann', 'Ann', 'x')")
        own_cdc.capture("public.profiles")
        ledger = SqlLedger(connection, LARGE, keys=40, pause_s=0.01)
        with running(own_cdc, "", PIPELINE.format(topic=own_cdc.topic("public.profiles")), tmp_path) as stack:
            until(lambda: "ann" in stack.rows("profiles", ["ann"]))
            with ledger.written():
                for _ in range(KILLS):
                    grows(ledger)
                    own_cdc.supervisor.kill("connect")
                    grows(ledger)
                    own_cdc.supervisor.restart("connect")
                grows(ledger)
            made = [Entry("ann", OP_UPSERT, "Ann"), *ledger.entries]
            until(lambda: len(stack.log.changes("profiles")) >= len(made))
            written = sorted(stack.log.changes("profiles"), key=in_order)
            assert [Entry(change.key, change.op, change.columns.get("name", "")) for change in written] == made
            assert {change.columns["bio"] for change in written[1:] if change.op == OP_UPSERT} == {LARGE}
            rows = {str(key): {"name": name, "bio": bio} for key, name, bio in stack.select("SELECT * FROM profiles")}
            keys = {entry.key for entry in made}
            until(lambda: stack.rows("profiles", keys) == rows)
            assert stack.describe("profiles").rows == len(rows)
            check_correction(stack, own_cdc.supervisor)


def check_correction(stack: EnrichmentStack, supervisor: Supervisor) -> None:
    """A row is committed before an event, and told of after it: the event comes out again."""
    supervisor.kill("connect")
    stack.sql("INSERT INTO profiles VALUES ('ann', 'Late', 'x')")  # she went with the first truncate
    with stack.publisher("phone") as publisher:
        publisher.publish("page.viewed", {"user": "ann"}).result(60)
    until(lambda: len(stack.log.events()) == 1)
    supervisor.restart("connect")
    until(lambda: len(stack.log.events()) == 2)
    first, second = stack.log.events()
    assert (first.seq, first.revision, second.seq, second.revision) == (1, 0, 1, 1)
    assert first.enrichments[0].status == ENRICHMENT_STATUS_DELETED
    assert second.enrichments[0].columns["name"] == "Late"


def grows(ledger: SqlLedger, by: int = 150) -> None:
    """Waits until so much more was changed."""
    target = len(ledger.entries) + by
    until(lambda: len(ledger.entries) >= target)


def test_a_table_without_a_key_is_refused(cdc: Captures, topic_prefix: str, tmp_path: Path) -> None:
    with cdc.postgres.connect() as connection:
        connection.execute(CREATE.replace(b"PRIMARY KEY", b""))
        connection.execute(b"INSERT INTO profiles VALUES ('ann', 'Ann', 'x')")
    cdc.capture("public.profiles")
    topic = cdc.topic("public.profiles")
    until(lambda: any(content({"bootstrap.servers": cdc.kafka.bootstrap}, topic)))
    with (
        pytest.raises(ChildDiedError, match=r"table 'profiles'.*has no key.*PRIMARY KEY"),
        running(cdc, topic_prefix, PIPELINE.format(topic=topic), tmp_path) as stack,
    ):
        stack.supervisor.wait(PATIENCE_S)
