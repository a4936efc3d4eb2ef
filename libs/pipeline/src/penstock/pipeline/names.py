"""How things are called in pipeline.yaml.

In:  the words of the document.
Out: names that are spelt alike wherever they stand, with a fault that says how where they are not.
"""

from typing import Annotated, Any

from penstock.document import Spelling, without_repeats
from pydantic import BeforeValidator, Field, WithJsonSchema, WrapValidator

NAME_CHARS_MAX = 64
ATTRIBUTES_MAX = 64
COLUMNS_MAX = 256
KEY_PARTS_MAX = 8

_WORD = r"[a-z][a-z0-9_]*"
_ATTRIBUTE = Spelling(_WORD, "lowercase letters, digits and _, such as post_id", NAME_CHARS_MAX)
_COLUMN = Spelling(r"[A-Za-z_][A-Za-z0-9_]*", "letters, digits and _, such as country", NAME_CHARS_MAX)

TypeName = Annotated[
    str, Spelling(rf"{_WORD}(\.{_WORD})*", "lowercase words joined by dots, such as post.created", NAME_CHARS_MAX)
]
AttributeName = Annotated[str, _ATTRIBUTE]
TableName = Annotated[str, Spelling(_WORD, "lowercase letters, digits and _, such as profiles", NAME_CHARS_MAX)]
ColumnName = Annotated[str, _COLUMN]
# The name of a topic as Kafka allows it: whoever set up Debezium has chosen it.
DebeziumTopic = Annotated[str, Spelling(r"[A-Za-z0-9._-]+", "the name of a topic, such as cdc.app.profiles", 249)]
About = Annotated[str, Spelling(r"\S[\s\S]*", "a sentence")]

Attributes = Annotated[tuple[AttributeName, ...], Field(max_length=ATTRIBUTES_MAX), WrapValidator(without_repeats)]
Columns = Annotated[tuple[ColumnName, ...], Field(max_length=COLUMNS_MAX), WrapValidator(without_repeats)]


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _one_or_several(spelling: Spelling) -> dict[str, Any]:
    word = {"type": "string", "pattern": f"^(?:{spelling.pattern})$"}
    several = {"type": "array", "items": word, "minItems": 1, "maxItems": KEY_PARTS_MAX, "uniqueItems": True}
    return {"anyOf": [word, several]}


# One name, or a list of them: `key: user` is `key: [user]`.
_KEY_PARTS = (
    Field(min_length=1, max_length=KEY_PARTS_MAX),
    WrapValidator(without_repeats),
    BeforeValidator(_listed),
)
KeyColumns = Annotated[tuple[ColumnName, ...], *_KEY_PARTS, WithJsonSchema(_one_or_several(_COLUMN))]
KeyAttributes = Annotated[tuple[AttributeName, ...], *_KEY_PARTS, WithJsonSchema(_one_or_several(_ATTRIBUTE))]
