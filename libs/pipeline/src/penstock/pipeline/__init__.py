"""pipeline.yaml: what flows through a pipeline, said once.

In:  pipeline.yaml, by default the social one.
Out: a `Pipeline`, or `InvalidDocumentError` that lists every fault with file, line and column.
"""

from penstock.pipeline.enrichments import Enrichment
from penstock.pipeline.event_types import EventType, RowOf
from penstock.pipeline.pipeline import EXAMPLES, Pipeline, example, json_schema, load, loads
from penstock.pipeline.row_key import key_values, row_key
from penstock.pipeline.tables import History, Table, fingerprint
from penstock.pipeline.timeline import Timeline, TimelineFollows, TimelinePosts

__all__ = [
    "EXAMPLES",
    "Enrichment",
    "EventType",
    "History",
    "Pipeline",
    "RowOf",
    "Table",
    "Timeline",
    "TimelineFollows",
    "TimelinePosts",
    "example",
    "fingerprint",
    "json_schema",
    "key_values",
    "load",
    "loads",
    "row_key",
]
