"""The section `event_types`: which events there are, and what each must say.

In:  the section of the document.
Out: `EventType`s by name. A type's key is an attribute that every event of the type has.
"""

from typing import Annotated

from penstock.document import Misfit, MisfitError, Section, Spelling, suggestion, without_repeats
from pydantic import Field, ValidationInfo, WrapValidator, field_validator

EVENT_TYPES_MAX = 256
ATTRIBUTES_MAX = 64
NAME_CHARS_MAX = 128

TypeName = Annotated[
    str,
    Spelling(
        r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*",
        "lowercase words joined by dots, such as post.created",
        NAME_CHARS_MAX,
    ),
]
AttributeName = Annotated[
    str,
    Spelling(r"[a-z][a-z0-9_]*", "lowercase letters, digits and _, such as post_id", NAME_CHARS_MAX),
]
About = Annotated[str, Spelling(r"\S[\s\S]*", "a sentence")]
Attributes = Annotated[tuple[AttributeName, ...], Field(max_length=ATTRIBUTES_MAX), WrapValidator(without_repeats)]


class EventType(Section):
    """One type of event."""

    about: About = Field(description="What has happened when such an event is sent, in a sentence")
    required: Attributes = Field(
        (), description="Attributes that every event of this type has; events without one are refused"
    )
    optional: Attributes = Field(
        (), description="Attributes that an event may have besides; for readers of this file, not checked"
    )
    key: AttributeName | None = Field(
        None,
        description="The required attribute whose value partitions events of this type; left out: the device",
    )

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
