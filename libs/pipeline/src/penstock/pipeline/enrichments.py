"""The section `enrichments`: which events are joined with which table.

In:  the section of the document.
Out: `Enrichment`s in its order, which is also their order on the event.
`references` checks the event types, tables, attributes and columns that are named here.
"""

from typing import Annotated

from penstock.document import Duration, Section, milliseconds
from penstock.pipeline.names import AttributeName, Columns, KeyAttributes, TableName, TypeName
from pydantic import Field

ENRICHMENTS_MAX = 256


class Enrichment(Section):
    """A join of events of one type with one table, as of the event's time."""

    event_type: TypeName = Field(description="The type of the events that are joined")
    table: TableName = Field(description="The table that they are joined with")
    on: KeyAttributes = Field(
        description="The required attribute that holds the key of the row, or the list of them, in the order of the key"
    )
    name: AttributeName = Field(alias="as", description="What the join is called on the event")
    columns: Columns | None = Field(
        default=None, description="The columns that are copied; left out: all that the table keeps"
    )
    wait_for_table: Annotated[str, Duration("0s", "60s", "500ms")] = Field(
        default="0s",
        description="How long an event that is newer than the table is held back for the table to catch up, up to 60s",
    )

    @property
    def wait_for_table_ms(self) -> int:
        """How long events are held back at most."""
        return milliseconds(self.wait_for_table)
