"""What the sections of pipeline.yaml say of each other.

In:  the document as it was written, sound or not.
Out: a misfit for every reference that leads nowhere or cannot work, each at its place.
Reads what was written rather than the model, so that these faults come together with those of spelling; whatever is
not readable is passed over, because its own fault is enough.
"""

from collections.abc import Iterator, Mapping

from penstock.document import Misfit, suggestion
from penstock.pipeline import timeline_references
from penstock.pipeline.draft import Draft, EnrichmentDraft, TableDraft, TypeDraft

_CHANGES = ("upserts", "deletes")


def misfits(document: Mapping[str, object]) -> Iterator[Misfit]:
    """Check every reference of a document."""
    draft = Draft.of(document)
    for table in draft.tables.values():
        yield from _of_table(table, draft)
    yield from _topics_once(draft)
    for event_type in draft.event_types.values():
        yield from _of_type(event_type, draft)
    for enrichment in draft.enrichments:
        yield from _of_enrichment(enrichment, draft)
    yield from _names_once(draft)
    yield from timeline_references.misfits(draft)


def _of_table(table: TableDraft, draft: Draft) -> Iterator[Misfit]:
    at = ("tables", table.name)
    if table.from_events and not draft.upserting(table.name) and not draft.has_lost_upserts:
        remedy = f"add `upserts: {{table: {table.name}}}` to the type of event that makes them"
        yield Misfit(f"no event type upserts {table.name}, so it would never have a row", remedy, (*at, "source"))
    known = draft.attributes_for(table)
    if table.from_events and known:
        for index, column in enumerate(table.columns or ()):
            if column not in known:
                problem = f"no event type that upserts {table.name} declares the attribute '{column}'"
                yield Misfit(problem, suggestion(column, known), (*at, "columns", index))
    yield from _partitioning(table, draft, (*at, "partitioned_by"))


def _partitioning(table: TableDraft, draft: Draft, at: tuple[str, ...]) -> Iterator[Misfit]:
    column, key = table.partitioned_by, table.key
    if column is None or key is None or column in key:
        return
    if table.from_events is False:
        problem = f"'{column}' is not part of the key, and of a deleted row the database tells only the key"
        yield Misfit(problem, suggestion(column, key), at)
    known = draft.columns_of(table)
    if table.from_events and known is not None and column not in known:
        yield Misfit(f"'{column}' is neither part of the key nor a column", suggestion(column, (*key, *known)), at)


def _topics_once(draft: Draft) -> Iterator[Misfit]:
    """A change of a database's row is one change of one table."""
    first: dict[str, str] = {}
    for table in draft.tables.values():
        if table.topic is not None and first.setdefault(table.topic, table.name) != table.name:
            problem = f"{table.topic} is the source of {first[table.topic]} already"
            at = ("tables", table.name, "source", "debezium", "topic")
            yield Misfit(problem, f"declare one table, and join with {first[table.topic]} twice", at)


def _of_type(event_type: TypeDraft, draft: Draft) -> Iterator[Misfit]:
    at = ("event_types", event_type.name)
    for change in _CHANGES:
        if (target := event_type.changes.get(change)) is not None:
            yield from _of_change(event_type, target, draft, (*at, change))
    if len(set(event_type.changes.values())) < len(event_type.changes):
        table = event_type.changes["deletes"]
        yield Misfit(f"the same event upserts a row of {table}", "let it do one of both", (*at, "deletes", "table"))


def _of_change(event_type: TypeDraft, target: str, draft: Draft, at: tuple[str, ...]) -> Iterator[Misfit]:
    table = draft.tables.get(target)
    if table is None:
        if draft.has_tables:
            yield Misfit(f"'{target}' is not a table", _known(target, draft.tables, "tables"), (*at, "table"))
    elif table.from_events is False:
        problem = f"the rows of {target} come from a database, so no event may change them"
        yield Misfit(problem, "change them there, or say `source: events` of the table", (*at, "table"))
    elif event_type.required is not None:
        for name in draft.addressed_by(table):
            if name not in event_type.required:
                problem = f"'{name}' {table.need_of(name)} of {target}, but some events could lack it"
                yield Misfit(problem, _require(name, event_type), at)


def _of_enrichment(enrichment: EnrichmentDraft, draft: Draft) -> Iterator[Misfit]:
    at = ("enrichments", enrichment.index)
    event_type, table = draft.event_types.get(enrichment.event_type), draft.tables.get(enrichment.table)
    if event_type is None and draft.has_event_types and enrichment.event_type:
        remedy = suggestion(enrichment.event_type, draft.event_types)
        yield Misfit(f"'{enrichment.event_type}' is not an event type", remedy, (*at, "event_type"))
    if table is None and draft.has_tables and enrichment.table:
        remedy = _known(enrichment.table, draft.tables, "tables")
        yield Misfit(f"'{enrichment.table}' is not a table", remedy, (*at, "table"))
    if event_type is not None and event_type.required is not None:
        for index, name in enumerate(enrichment.on or ()):
            if name not in event_type.required:
                problem = f"'{name}' is not among the required attributes of {event_type.name}"
                place = (*at, "on", index) if len(enrichment.on or ()) > 1 else (*at, "on")
                yield Misfit(problem, _require(name, event_type), place)
    if table is not None:
        yield from _of_join(enrichment, table, draft)


def _of_join(enrichment: EnrichmentDraft, table: TableDraft, draft: Draft) -> Iterator[Misfit]:
    at = ("enrichments", enrichment.index)
    if table.key and enrichment.on and len(table.key) != len(enrichment.on):
        problem = f"names {_count(enrichment.on)}, but the key of {table.name} is {', '.join(table.key)}"
        yield Misfit(problem, "name one attribute for each part of the key, in its order", (*at, "on"))
    known = draft.columns_of(table)
    for index, column in enumerate(enrichment.columns or ()):
        if known is not None and column not in known:
            problem = f"'{column}' is not among the columns of {table.name}"
            yield Misfit(problem, suggestion(column, known) or "it keeps none", (*at, "columns", index))


def _names_once(draft: Draft) -> Iterator[Misfit]:
    """Joins are told apart by their names."""
    first: dict[tuple[str, str], int] = {}
    for enrichment in draft.enrichments:
        if not (enrichment.name and enrichment.event_type):
            continue
        other = first.setdefault((enrichment.event_type, enrichment.name), enrichment.index)
        if other != enrichment.index:
            problem = f"{enrichment.event_type} has a join called '{enrichment.name}' already (enrichments[{other}])"
            yield Misfit(problem, "choose another name", ("enrichments", enrichment.index, "as"))


def _require(name: str, event_type: TypeDraft) -> str:
    if name in (event_type.optional or ()):
        return f"move it from `optional` to `required` of {event_type.name}"
    required = event_type.required or ()
    close = suggestion(name, required)
    return close if close.startswith("did you mean") else f"add it: `required: [{', '.join((*required, name))}]`"


def _known(word: str, known: Mapping[str, object], section: str) -> str:
    return suggestion(word, known) or f"declare it in `{section}:`"


def _count(names: tuple[str, ...]) -> str:
    return "1 attribute" if len(names) == 1 else f"{len(names)} attributes"
