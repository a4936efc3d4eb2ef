"""Loads pipeline.yaml.

In:  a file or text; without either, the social pipeline that is shipped.
Out: a `Pipeline`, strict and frozen. Each section of the file is a module here, and a field of `Pipeline`.
"""

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Self

from penstock.document import FormatVersion, Section, read, read_file, validated
from penstock.pipeline import references
from penstock.pipeline.enrichments import ENRICHMENTS_MAX, Enrichment
from penstock.pipeline.event_types import EVENT_TYPES_MAX, EventType
from penstock.pipeline.names import TableName, TypeName
from penstock.pipeline.tables import TABLES_MAX, Table
from penstock.pipeline.timeline import Timeline
from pydantic import Field, ModelWrapValidatorHandler, model_validator

EXAMPLES = ("social", "shop")
SHIPPED = "social"


class Pipeline(Section):
    """What flows through a pipeline."""

    version: FormatVersion = Field(description="The version of this format, 1")
    event_types: dict[TypeName, EventType] = Field(
        min_length=1, max_length=EVENT_TYPES_MAX, description="The types of events that are accepted, by name"
    )
    tables: dict[TableName, Table] = Field(
        default_factory=dict, max_length=TABLES_MAX, description="The tables that events are joined with, by name"
    )
    enrichments: tuple[Enrichment, ...] = Field(
        default=(), max_length=ENRICHMENTS_MAX, description="Which events are joined with which table"
    )
    timeline: Timeline | None = Field(
        default=None, description="Which tables timelines are made of; left out: there are no timelines"
    )

    def enrichments_of(self, event_type: str) -> tuple[Enrichment, ...]:
        """The joins of one type of event, in the order of the file."""
        return tuple(enrichment for enrichment in self.enrichments if enrichment.event_type == event_type)

    def columns_of(self, table: str) -> tuple[str, ...] | None:
        """The columns that a table keeps; None: whatever the database has."""
        columns, from_events = self.tables[table].columns, self.tables[table].from_events
        if columns is not None or not from_events:
            return columns
        types = (kind for kind in self.event_types.values() if kind.upserts is not None and kind.upserts.table == table)
        return tuple(dict.fromkeys(attribute for kind in types for attribute in kind.attributes))

    @model_validator(mode="wrap")
    @classmethod
    def _references_hold(cls, document: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        found = references.misfits(document) if isinstance(document, Mapping) else ()
        pipeline: Self = validated(document, validate, found)
        return pipeline


def load(path: Path | None = None) -> Pipeline:
    """Load a pipeline; without a path the social one."""
    return read_file(path, Pipeline) if path is not None else loads(example(SHIPPED), f"{SHIPPED}.yaml")


def loads(text: str, source_name: str) -> Pipeline:
    """Load a pipeline from text; `source_name` names it in faults."""
    return read(text, source_name, Pipeline)


def example(name: str) -> str:
    """Read the text of a pipeline that is shipped, to be copied and changed."""
    return resources.files("penstock.pipeline").joinpath(f"{name}.yaml").read_text(encoding="utf-8")


def json_schema() -> dict[str, Any]:
    """Export the form of pipeline.yaml, for editors and for Helm's values."""
    schema = Pipeline.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "pipeline.yaml"}
