"""Loads the map of topics.

In:  topics.yaml, by default the one that is shipped with this package.
Out: a `TopicMap`, or `InvalidDocumentError` with every fault and its line; `TopicMapError` if it does not fit.
Topics keep their names of the file throughout; a prefix only changes what they are called in Kafka.
A pipeline's tables are not in the file: it has templates for their topics, and `for_tables` fills them in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Self

from penstock.document import FormatVersion, MisfitError, Section, read, read_file
from penstock.topics import graph, laws, tables
from penstock.topics.errors import TopicMapError
from penstock.topics.schema import Cycle, Sentence, StepName, Topic, TopicName, is_prefix
from penstock.topics.tables import DeclaredTable
from pydantic import Field, model_validator


class TopicsDocument(Section):
    """topics.yaml as a whole."""

    version: FormatVersion = Field(description="The version of this format, 1")
    steps: dict[StepName, Sentence] = Field(max_length=256, description="The steps of the flow")
    topics: dict[TopicName, Topic] = Field(max_length=1000, description="The topics")
    cycles: tuple[Cycle, ...] = Field((), max_length=64, description="The cycles that are meant")

    @model_validator(mode="after")
    def _lawful(self) -> Self:
        misfits = tuple(laws.misfits(self.topics, self.cycles))
        if misfits:
            raise MisfitError(*misfits)
        return self


@dataclass(frozen=True, slots=True)
class TopicMap:
    """Every topic of a pipeline, by its name in topics.yaml; `tables` names the topic of each table."""

    topics: Mapping[str, Topic]
    steps: Mapping[str, str]
    document: TopicsDocument
    cycles: tuple[Cycle, ...] = ()
    tables: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""

    def __getitem__(self, name: str) -> Topic:
        return self.topics[name]

    def kafka_name(self, name: str) -> str:
        """Say what a topic is called in Kafka; KeyError if the map has no such topic."""
        if name not in self.topics:
            raise KeyError(f"no topic {name} on the map; it has {', '.join(self.topics)}")
        return self.prefix + name

    def prefixed(self, prefix: str) -> "TopicMap":
        """Make the same map for topics whose names begin with `prefix`: several pipelines share one Kafka."""
        if not is_prefix(prefix):
            raise TopicMapError(f"'{prefix}' cannot begin a topic's name: letters, digits, '.', '_', '-', up to 100")
        return replace(self, prefix=prefix + self.prefix)

    def for_tables(self, declared: Mapping[str, DeclaredTable]) -> "TopicMap":
        """Make the same map with a topic for each of these tables, such as those of a `penstock.pipeline.Pipeline`.

        TopicMapError if a table's topic would break a law of the map; ValueError if a table's name cannot be part of a
        topic's.
        """
        filled = tables.fill(self.document.topics, self.document.cycles, declared)
        if broken := [misfit.problem for misfit in laws.misfits(filled.topics, filled.cycles)]:
            raise TopicMapError(f"with these tables the map of topics would not be sound: {'; '.join(broken)}")
        return replace(self, topics=filled.topics, cycles=filled.cycles, tables=filled.names)

    def edges(self) -> list[tuple[str, str]]:
        """List the arrows of the flow: producer → topic and topic → consumer."""
        return graph.arrows(self.topics)

    def undocumented_cycles(self) -> list[tuple[str, ...]]:
        """Find ways round that the map does not document. A map that was loaded has none."""
        return laws.undocumented_cycles(self.topics, self.cycles)


def load(path: Path | None = None) -> TopicMap:
    """Load a map; without a path the one that is shipped. Tables come with `for_tables`.

    TopicMapError if the file lacks a topic of the map that is shipped: our services need them all.
    """
    shipped = resources.files("penstock.topics").joinpath("topics.yaml")
    needed = loads(shipped.read_text(encoding="utf-8"), "topics.yaml")
    if path is None:
        return needed
    given = _map(read_file(path, TopicsDocument))
    if missing := [name for name in needed.document.topics if name not in given.document.topics]:
        raise TopicMapError(f"{path} lacks {', '.join(missing)}; it needs every topic of the map that is shipped")
    return given


def loads(text: str, source: str) -> TopicMap:
    """Load a map from text; `source` names it in faults."""
    return _map(read(text, source, TopicsDocument))


def _map(document: TopicsDocument) -> TopicMap:
    return TopicMap({}, document.steps, document).for_tables({})
