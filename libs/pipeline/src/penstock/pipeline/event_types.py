"""The section `event_types`: which events there are, what each must say, and which row it changes.

In:  the section of the document.
Out: `EventType`s by name. A type's key is an attribute that every event of the type has.
`references` checks the tables that are named here.
"""

from penstock.document import Misfit, MisfitError, Section, suggestion
from penstock.pipeline.names import About, AttributeName, Attributes, TableName
from pydantic import Field, ValidationInfo, field_validator

EVENT_TYPES_MAX = 256


class RowOf(Section):
    """Which row an event changes: the one whose key the event's attributes of the same names hold."""

    table: TableName = Field(description="A table of this pipeline whose source is events")


class EventType(Section):
    """One type of event."""

    about: About = Field(description="What has happened when such an event is sent, in a sentence")
    required: Attributes = Field(
        default=(), description="Attributes that every event of this type has; events without one are refused"
    )
    optional: Attributes = Field(
        default=(), description="Attributes that an event may have besides; for readers of this file, not checked"
    )
    key: AttributeName | None = Field(
        default=None,
        description="The required attribute whose value partitions events of this type; left out: the device",
    )
    upserts: RowOf | None = Field(default=None, description="The table in which such an event makes or replaces a row")
    deletes: RowOf | None = Field(default=None, description="The table from which such an event removes a row")

    @property
    def attributes(self) -> tuple[str, ...]:
        """Every attribute that the type declares."""
        return self.required + self.optional

    @field_validator("optional")
    @classmethod
    def _not_required_too(cls, optional: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        required = info.data.get("required", ())
        misfits = [
            Misfit(f"'{name}' is required already", "list it once", (index,))
            for index, name in enumerate(optional)
            if name in required
        ]
        if misfits:
            raise MisfitError(*misfits)
        return optional

    @field_validator("key")
    @classmethod
    def _key_is_required(cls, key: str | None, info: ValidationInfo) -> str | None:
        # Where `required` is at fault itself there is nothing to compare with, and its own fault is enough.
        required = info.data.get("required")
        if key is None or required is None or key in required:
            return key
        problem = f"'{key}' is not among the required attributes, so some events could lack their key"
        raise MisfitError(Misfit(problem, suggestion(key, required) or f"add it: `required: [{key}]`"))
