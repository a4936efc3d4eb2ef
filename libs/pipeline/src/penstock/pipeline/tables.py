"""The section `tables`: what events can be joined with, and where its rows come from.

In:  the section of the document.
Out: `Table`s by name, and a fingerprint of each that changes whenever its content may.
`references` checks what tables, event types and enrichments say of each other.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from penstock.document import Duration, Misfit, MisfitError, Section, milliseconds
from penstock.pipeline.names import About, ColumnName, Columns, DebeziumTopic, KeyColumns
from pydantic import Discriminator, Field, Tag, ValidatorFunctionWrapHandler, WrapValidator

TABLES_MAX = 64
VERSIONS_MAX = 10_000
EVENTS: Literal["events"] = "events"


class DebeziumTopicSource(Section):
    """The changes of a database's table, as Debezium writes them."""

    topic: DebeziumTopic = Field(description="The topic that Debezium writes, such as cdc.app.profiles")


class Debezium(Section):
    """Rows that a database has."""

    debezium: DebeziumTopicSource = Field(description="Where Debezium writes the changes of the database's table")


def _source(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Say what the alternatives are, instead of how the value fits neither."""
    if value == EVENTS or isinstance(value, Mapping):
        return validate(value)
    problem = "is empty" if value is None else f"'{value}' is not a source of rows"
    raise MisfitError(Misfit(problem, "should be events, or {debezium: {topic: …}}"))


def _kind(value: Any) -> str:
    return "word" if isinstance(value, str) else "section"


Source = Annotated[
    # Told apart before they are checked, or else a section with a fault would also be blamed for not being a word.
    Annotated[Literal["events"], Tag("word")] | Annotated[Debezium, Tag("section")],
    Discriminator(_kind),
    WrapValidator(_source),
]


class History(Section):
    """How much of a row's past can be asked for. The newest version is always kept."""

    versions: int = Field(default=100, ge=1, le=VERSIONS_MAX, description="The most versions that are kept of one row")
    age: Annotated[str, Duration("1s", "3650d", "30d")] = Field(
        default="30d", description="How long a version is kept after the next one took its place, such as 30d"
    )

    @property
    def age_ms(self) -> int:
        """The age in milliseconds."""
        return milliseconds(self.age)


class Table(Section):
    """One table."""

    about: About | None = Field(default=None, description="What a row says, in a sentence")
    source: Source = Field(description="Where rows come from: events, or {debezium: {topic: …}}")
    key: KeyColumns = Field(description="The column that names a row, or the list of columns that do together")
    columns: Columns | None = Field(
        default=None, description="The columns that are kept besides the key; left out: all, those of the key included"
    )
    partitioned_by: ColumnName | None = Field(
        default=None,
        description="The column by which the table's topic is partitioned, for joins with tables; left out: the key",
    )
    history: History = Field(default=History(), description="How much of each row's past is kept")

    @property
    def from_events(self) -> bool:
        """Whether events make the rows; else a database has them."""
        return self.source == EVENTS

    @property
    def debezium_topic(self) -> str | None:
        """The topic that the rows come from; None where events make them."""
        return self.source.debezium.topic if isinstance(self.source, Debezium) else None

    @property
    def history_ms(self) -> int:
        """How long a version is kept after the next one took its place."""
        return self.history.age_ms


def fingerprint(name: str, table: Table) -> str:
    """Hash all that may affect what the table holds: equal for equal content, whatever the words and their order.

    A snapshot that was made under another fingerprint is of another table.
    """
    content = {
        "format": 1,
        "table": name,
        "source": table.debezium_topic or EVENTS,
        "key": table.key,
        "columns": None if table.columns is None else sorted(table.columns),
        "partitioned_by": table.partitioned_by,
        "versions": table.history.versions,
        "age_ms": table.history.age_ms,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
