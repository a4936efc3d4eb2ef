"""The parts of topics.yaml.

In:  the values of the document.
Out: strict sections. Each is sound by itself; `laws` ties them together.
"""

import re
from typing import Annotated, Literal

from penstock.document import (
    Duration,
    Misfit,
    MisfitError,
    Section,
    Spelling,
    declared,
    milliseconds,
    suggestion,
    without_repeats,
)
from pydantic import BeforeValidator, Field, ValidationInfo, WrapValidator, field_validator

UNLIMITED = "unlimited"
HISTORY = "history"
# What stands in a topic's name for that of a table, by where the table's rows come from.
DATABASE_TABLE, EVENT_TABLE = "{database-table}", "{event-table}"
PLACEHOLDERS = (DATABASE_TABLE, EVENT_TABLE)

TopicName = Annotated[
    str,
    Spelling(
        r"[a-z][a-z0-9_-]*(\.([a-z][a-z0-9_-]*|\{database-table\}|\{event-table\}))*\.v[1-9][0-9]*",
        "lowercase words joined by dots with a version at the end, such as events.raw.v1",
    ),
]
StepName = Annotated[
    str,
    Spelling(r"[a-z][a-z0-9-]*", "a lowercase word, such as ingestion or table-intake (topics have dots)"),
]
FieldName = Annotated[str, Spelling(r"[a-z][a-z0-9_]*", "the name of a field, such as device_id")]
MessageName = Annotated[
    str,
    Spelling(
        r"([a-z][a-z0-9_]*\.)+[A-Z][A-Za-z0-9]*",
        "the full name of a protobuf message, such as penstock.events.v1.Event",
    ),
]
Sentence = Annotated[str, Spelling(r"\S[\s\S]*", "a sentence")]
Retention = Annotated[str, Duration("1s", "36500d", "7d", UNLIMITED)]
CompactionLag = Annotated[str, Duration("0s", "36500d", "30d", HISTORY)]
Steps = Annotated[tuple[StepName, ...], WrapValidator(without_repeats)]


def _none_or_name(value: object) -> object:
    if value is None:
        raise MisfitError(Misfit("is empty", "name a topic, or say none"))
    return None if value == "none" else value


class Topic(Section):
    """One topic."""

    about: Sentence = Field(description="What one record says")
    message: MessageName = Field(description="The protobuf message of a record's value")
    key: FieldName = Field(description="The field that is also the record's key")
    partitioned_by: FieldName | None = Field(default=None, description="What chooses the partition, if not the key")
    partitions: int = Field(ge=1, le=1000, description="How many partitions")
    cleanup: Literal["delete", "compact"] = Field(description="delete or compact")
    retention: Retention = Field(description="How long records are kept")
    compaction_lag: CompactionLag | None = Field(
        default=None, description="How long compaction leaves a record alone after a newer one took its place"
    )
    max_message_bytes: int = Field(ge=1024, le=100 * 1024 * 1024, description="The largest record")
    producers: Annotated[Steps, Field(min_length=1)] = Field(description="The steps that write")
    consumers: Steps = Field(description="The steps that read; [] if none does")
    dead_letters: Annotated[TopicName | None, BeforeValidator(_none_or_name)] = Field(
        description="Where unreadable records go, or none"
    )

    @property
    def retention_ms(self) -> int:
        """The retention as Kafka wants it: -1 is unlimited."""
        if self.retention == UNLIMITED:
            return -1
        return milliseconds(self.retention)

    @property
    def partition_subject(self) -> str:
        """The field or column whose murmur2 chooses the partition."""
        return self.partitioned_by or self.key

    @field_validator("retention")
    @classmethod
    def _compacted_is_kept(cls, retention: str, info: ValidationInfo) -> str:
        if info.data.get("cleanup") == "compact" and retention != UNLIMITED:
            problem = f"is '{retention}', but a compacted topic keeps the newest record of each key for good"
            raise MisfitError(Misfit(problem, f"should be {UNLIMITED}"))
        return retention

    @field_validator("compaction_lag")
    @classmethod
    def _only_compacted_lags(cls, lag: str | None, info: ValidationInfo) -> str | None:
        if lag is not None and info.data.get("cleanup") == "delete":
            raise MisfitError(
                Misfit("is given, but the topic is not compacted", "remove it, or say `cleanup: compact`")
            )
        return lag

    @field_validator("producers", "consumers")
    @classmethod
    def _steps_exist(cls, steps: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        known = declared(info, "steps")
        unknown = [(index, step) for index, step in enumerate(steps) if known is not None and step not in known]
        if unknown:
            raise MisfitError(*(Misfit(f"'{s}' is not a step", suggestion(s, known or ()), (i,)) for i, s in unknown))
        return steps

    @field_validator("dead_letters")
    @classmethod
    def _dead_letters_exist(cls, topic: str | None, info: ValidationInfo) -> str | None:
        known = declared(info, "topics")
        if topic is not None and "{" in topic:
            raise MisfitError(Misfit(f"'{topic}' stands for the topics of tables", "name a single topic, or say none"))
        if topic is not None and known is not None and topic not in known:
            raise MisfitError(Misfit(f"'{topic}' is not a topic of this map", suggestion(topic, known)))
        return topic


class Cycle(Section):
    """A way round that is meant, and why it ends."""

    path: Annotated[tuple[str, ...], Field(min_length=2), WrapValidator(without_repeats)] = Field(
        description="The steps and topics on the way round, each once"
    )
    reason: Sentence = Field(description="Why the cycle is needed and why it ends")


def is_prefix(text: str) -> bool:
    """Tell whether a text may stand before every topic's name."""
    return re.fullmatch(r"[A-Za-z0-9._-]{0,100}", text) is not None
