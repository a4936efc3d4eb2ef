"""pipeline.yaml: what flows through a pipeline, said once.

In:  pipeline.yaml, by default the social one.
Out: a `Pipeline`, or `InvalidDocumentError` that lists every fault with file, line and column.
"""

from penstock.pipeline.event_types import EventType
from penstock.pipeline.pipeline import Pipeline, json_schema, load, loads

__all__ = ["EventType", "Pipeline", "json_schema", "load", "loads"]
