"""The topics of a pipeline's tables.

In:  the entries of the map, of which some are templates, and the tables that a pipeline declares.
Out: the entries in their order, each template replaced by one topic per table; documented cycles likewise.
Pure: what a table is, is the pipeline's business; here it is three plain values.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol

from penstock.topics.schema import DATABASE_TABLE, EVENT_TABLE, HISTORY, PLACEHOLDERS, Cycle, Topic

TABLE_NAME_CHARS_MAX = 128


class DeclaredTable(Protocol):
    """What the map needs to know of a table."""

    @property
    def from_events(self) -> bool:
        """Whether events make its rows; else they come from a database."""

    @property
    def partitioned_by(self) -> str | None:
        """The column that chooses the partition; None: the row's key."""

    @property
    def history_ms(self) -> int:
        """How long a version of a row must stay in the log after the next one took its place."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A map without templates, and the topic of each table."""

    topics: Mapping[str, Topic]
    cycles: tuple[Cycle, ...]
    names: Mapping[str, str]


def fill(entries: Mapping[str, Topic], cycles: Sequence[Cycle], declared: Mapping[str, DeclaredTable]) -> Filled:
    """Replace the templates; ValueError if a table's name is misspelt or its topic exists already."""
    topics: dict[str, Topic] = {}
    named: dict[str, dict[str, str]] = {}
    for entry, topic in entries.items():
        placeholder = _placeholder(entry)
        if placeholder is None:
            topics[entry] = topic
            continue
        named[entry] = {
            name: entry.replace(placeholder, _sound(name))
            for name, table in declared.items()
            if placeholder == (EVENT_TABLE if table.from_events else DATABASE_TABLE)
        }
        for table_name, topic_name in named[entry].items():
            if topic_name in entries:
                raise ValueError(f"a table cannot be called '{table_name}': {topic_name} is another topic of the map")
            topics[topic_name] = _topic_of(topic, declared[table_name])
    names = {table: topic for group in named.values() for table, topic in group.items()}
    return Filled(topics, tuple(_cycles(cycles, named)), {table: names[table] for table in declared})


def _placeholder(entry: str) -> str | None:
    return next((placeholder for placeholder in PLACEHOLDERS if placeholder in entry), None)


def _sound(table: str) -> str:
    if len(table) > TABLE_NAME_CHARS_MAX or re.fullmatch(r"[a-z][a-z0-9_-]*", table) is None:
        raise ValueError(f"'{table}' cannot be part of a topic's name: lowercase letters, digits, '_', '-', up to 128")
    return table


def _topic_of(template: Topic, table: DeclaredTable) -> Topic:
    lag = f"{table.history_ms}ms" if template.compaction_lag == HISTORY else template.compaction_lag
    return template.model_copy(update={"partitioned_by": table.partitioned_by, "compaction_lag": lag})


def _cycles(cycles: Sequence[Cycle], named: Mapping[str, Mapping[str, str]]) -> Iterator[Cycle]:
    """Write out the cycles that lead through templates, once for each table."""
    for cycle in cycles:
        steps = [tuple(named[step].values()) if step in named else (step,) for step in cycle.path]
        for path in product(*steps):
            yield Cycle(path=path, reason=cycle.reason)
