"""Loads pipeline.yaml.

In:  a file or text; without either, the social pipeline that is shipped.
Out: a `Pipeline`, strict and frozen. Each section of the file is a module here, and a field of `Pipeline`.
"""

from importlib import resources
from pathlib import Path
from typing import Any

from penstock.document import FormatVersion, Section, read, read_file
from penstock.pipeline.event_types import EVENT_TYPES_MAX, EventType, TypeName
from pydantic import Field

SHIPPED = "social.yaml"


class Pipeline(Section):
    """What flows through a pipeline."""

    version: FormatVersion = Field(description="The version of this format, 1")
    event_types: dict[TypeName, EventType] = Field(
        min_length=1, max_length=EVENT_TYPES_MAX, description="The types of events that are accepted, by name"
    )


def load(path: Path | None = None) -> Pipeline:
    """Load a pipeline; without a path the social one."""
    if path is not None:
        return read_file(path, Pipeline)
    shipped = resources.files("penstock.pipeline").joinpath(SHIPPED)
    return loads(shipped.read_text(encoding="utf-8"), SHIPPED)


def loads(text: str, source_name: str) -> Pipeline:
    """Load a pipeline from text; `source_name` names it in faults."""
    return read(text, source_name, Pipeline)


def json_schema() -> dict[str, Any]:
    """Export the form of pipeline.yaml, for editors and for Helm's values."""
    schema = Pipeline.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "pipeline.yaml"}
