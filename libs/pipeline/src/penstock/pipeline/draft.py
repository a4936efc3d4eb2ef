"""pipeline.yaml as far as it can be read: what `references` follows.

In:  the document as it was written: any value may stand anywhere.
Out: names and lists of names; None where there is nothing, or nothing readable. No fault is reported here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

Document = Mapping[str, object]
_CHANGES = ("upserts", "deletes")


@dataclass(frozen=True, slots=True)
class TableDraft:
    """A table. What may be left out is None where it was, and where it is not readable: `has_…` tells which."""

    name: str
    from_events: bool | None
    topic: str | None
    key: tuple[str, ...] | None
    has_columns: bool
    columns: tuple[str, ...] | None
    has_partitioned_by: bool
    partitioned_by: str | None

    @classmethod
    def of(cls, name: str, written: Document) -> Self:
        source = written.get("source")
        topic = _below(_below(written, "source"), "debezium").get("topic")
        return cls(
            name,
            True if source == "events" else False if isinstance(source, Mapping) else None,
            topic if isinstance(topic, str) else None,
            _names(written.get("key")),
            "columns" in written,
            _names(written.get("columns"), one=False),
            written.get("partitioned_by") is not None,
            _text(written.get("partitioned_by")) or None,
        )

    def need_of(self, name: str) -> str:
        """Say what a name that addresses rows is needed for."""
        return "is part of the key" if name in (self.key or ()) else "chooses the partition"


@dataclass(frozen=True, slots=True)
class TypeDraft:
    """An event type."""

    name: str
    required: tuple[str, ...] | None
    optional: tuple[str, ...] | None
    changes: Mapping[str, str]

    @classmethod
    def of(cls, name: str, written: Document) -> Self:
        targets = {change: _text(_below(written, change).get("table")) for change in _CHANGES}
        return cls(
            name,
            _names(written.get("required", ()), one=False),
            _names(written.get("optional", ()), one=False),
            {change: table for change, table in targets.items() if table},
        )


@dataclass(frozen=True, slots=True)
class EnrichmentDraft:
    """An enrichment; names are empty where there is none."""

    index: int
    event_type: str
    table: str
    on: tuple[str, ...] | None
    name: str
    columns: tuple[str, ...] | None

    @classmethod
    def of(cls, index: int, written: Document) -> Self:
        return cls(
            index,
            _text(written.get("event_type")),
            _text(written.get("table")),
            _names(written.get("on")),
            _text(written.get("as")),
            _names(written.get("columns"), one=False),
        )


@dataclass(frozen=True, slots=True)
class TimelineDraft:
    """The timeline; names are empty where there is none."""

    posts: str
    posts_author: str
    follows: str
    follower: str
    follows_author: str

    @classmethod
    def of(cls, written: Document) -> Self:
        posts, follows = _below(written, "posts"), _below(written, "follows")
        return cls(
            _text(posts.get("table")),
            _text(posts.get("author")),
            _text(follows.get("table")),
            _text(follows.get("follower")),
            _text(follows.get("author")),
        )


@dataclass(frozen=True, slots=True)
class Draft:
    """A document. Without a readable section, nothing can be said of references to it."""

    tables: Mapping[str, TableDraft]
    event_types: Mapping[str, TypeDraft]
    enrichments: tuple[EnrichmentDraft, ...]
    timeline: TimelineDraft
    has_tables: bool
    has_event_types: bool

    @classmethod
    def of(cls, document: Document) -> Self:
        tables, event_types = _below(document, "tables"), _below(document, "event_types")
        listed = document.get("enrichments")
        entries = enumerate(listed if isinstance(listed, tuple) else ())
        return cls(
            {name: TableDraft.of(name, _below(tables, name)) for name in tables},
            {name: TypeDraft.of(name, _below(event_types, name)) for name in event_types},
            tuple(EnrichmentDraft.of(index, entry) for index, entry in entries if isinstance(entry, Mapping)),
            TimelineDraft.of(_below(document, "timeline")),
            # Tables may be left out altogether, and then there is none.
            "tables" not in document or isinstance(document["tables"], Mapping),
            isinstance(document.get("event_types"), Mapping),
        )

    def upserting(self, table: str) -> list[TypeDraft]:
        """The event types that make rows of a table."""
        return [event_type for event_type in self.event_types.values() if event_type.changes.get("upserts") == table]

    @property
    def has_lost_upserts(self) -> bool:
        """Whether an event type upserts a table that does not exist: it may mean any of those that do."""
        targets = (event_type.changes.get("upserts") for event_type in self.event_types.values())
        return any(target is not None and target not in self.tables for target in targets)

    def columns_of(self, table: TableDraft) -> tuple[str, ...] | None:
        """The columns that a table keeps; None where nobody can say, because the database decides."""
        if table.has_columns:
            return table.columns
        return self.attributes_for(table) if table.from_events else None

    def addressed_by(self, table: TableDraft) -> tuple[str, ...]:
        """What an event must say for its row, and the row's partition, to be known."""
        column, columns = table.partitioned_by, self.columns_of(table)
        is_column = column is not None and (columns is None or column in columns)
        names = (*(table.key or ()), *((column,) if column is not None and is_column else ()))
        return tuple(dict.fromkeys(names))

    def attributes_for(self, table: TableDraft) -> tuple[str, ...] | None:
        """The attributes of events that could become columns of a table; None where they are not readable."""
        found: dict[str, None] = {}
        for event_type in self.upserting(table.name):
            if event_type.required is None or event_type.optional is None:
                return None
            found |= dict.fromkeys(event_type.required + event_type.optional)
        return tuple(found)


def _below(written: Document, name: str) -> Document:
    section = written.get(name)
    return section if isinstance(section, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _names(value: object, *, one: bool = True) -> tuple[str, ...] | None:
    if one and isinstance(value, str):
        return (value,)
    if isinstance(value, tuple) and all(isinstance(name, str) for name in value):
        return value
    return None
