import json
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from penstock.enrichment.intake import KeylessTableError, KeyMismatchError, UnusableTableError, check_sources
from penstock.enrichment.intake.sources import RECORDS_MAX
from penstock.pipeline import Pipeline

ROW = json.dumps({"op": "c", "after": {"id": 1}, "source": {"lsn": 1, "ts_us": 1}}).encode()
KEY = b'{"id": 1}'
HEARTBEAT = b'{"ts_ms": 1}'
TABLES = {
    name: {"about": "A table.", "source": {"debezium": {"topic": f"cdc.{name}"}}, "key": "id"}
    for name in ("users", "items")
}
TYPES = {"page.viewed": {"about": "An event."}}
PIPELINE = Pipeline.model_validate({"version": 1, "tables": TABLES, "event_types": TYPES})


class Message(NamedTuple):
    name: str
    key_bytes: bytes | None
    value_bytes: bytes | None

    def topic(self) -> str:
        return self.name

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 7

    def key(self) -> bytes | None:
        return self.key_bytes

    def value(self) -> bytes | None:
        return self.value_bytes

    def timestamp(self) -> tuple[int, int]:
        return 1, 0


class Topics(dict[str, list[tuple[bytes | None, bytes | None]]]):
    """By name; counts what is read."""

    taken = 0

    def read(self, topic: str) -> Iterator[Message]:
        for key, value in self.get(topic, ()):
            self.taken += 1
            yield Message(topic, key, value)


def test_topics_that_fit_are_read_as_far_as_their_first_row() -> None:
    topics = Topics({"cdc.users": [(None, HEARTBEAT), *[(KEY, ROW)] * 9], "cdc.items": [(KEY, ROW)] * 9})
    check_sources(PIPELINE, topics.read)
    assert topics.taken == 3


def test_a_topic_that_says_nothing_is_believed() -> None:
    topics = Topics({"cdc.users": [*[(None, HEARTBEAT)] * RECORDS_MAX, (None, ROW)]})
    check_sources(PIPELINE, topics.read)
    assert topics.taken == RECORDS_MAX


def test_a_table_without_a_key_is_refused() -> None:
    with pytest.raises(KeylessTableError, match=r"'items'.*cdc\.items\[0\]@7"):
        check_sources(PIPELINE, Topics({"cdc.users": [(KEY, ROW)], "cdc.items": [(None, ROW)]}).read)


def test_another_key_is_refused() -> None:
    with pytest.raises(KeyMismatchError, match=r"'users'.*keyed by 'name'"):
        check_sources(PIPELINE, Topics({"cdc.users": [(b'{"name": "a"}', ROW)]}).read)


def test_all_tables_that_do_not_fit_are_told_at_once() -> None:
    topics = Topics({"cdc.users": [(b'{"name": "a"}', ROW)], "cdc.items": [(None, ROW)]})
    with pytest.raises(UnusableTableError, match=r"(?s)table 'users'.*\n.*table 'items'"):
        check_sources(PIPELINE, topics.read)
