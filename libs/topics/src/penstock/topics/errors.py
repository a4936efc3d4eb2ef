"""What can be wrong with topics.

TopicsError
├── TopicMapError           the map does not fit what it is to be used for: change the map, the prefix or the pipeline
├── KafkaUnreachableError   nothing answered in time: start Kafka, check the address, try again
├── TopicsRefusedError      Kafka answered no: permissions, policies, too few brokers
├── TopicsMissingError      they are not there yet: whoever creates them has not run, or ran elsewhere
└── TopicsDifferError       Kafka has topics that are not as on the map: a person decides which is right
"""

from collections.abc import Iterable
from dataclasses import dataclass


class TopicsError(Exception):
    """Topics cannot be used as the map says."""


class TopicMapError(TopicsError, ValueError):
    """A map that is sound by itself cannot be used: with these tables, with this prefix, or at all."""


class KafkaUnreachableError(TopicsError):
    """Kafka did not answer in time."""

    def __init__(self, servers: str, timeout_s: float, last_error: str) -> None:
        seen = f" The last error was: {last_error}." if last_error else ""
        super().__init__(
            f"Kafka at {servers} did not answer within {timeout_s:g} s.{seen} Check that it runs, that the"
            " address is right, and the password if it asks for one: a wrong one shows as silence."
        )


class TopicsRefusedError(TopicsError):
    """Kafka refused a request for some topics."""

    def __init__(self, request: str, refusals: Iterable[tuple[str, str]]) -> None:
        self.refusals = tuple(refusals)
        lines = (f"  {topic}: {reason}" for topic, reason in self.refusals)
        super().__init__("\n".join((f"Kafka refused to {request}:", *lines)))


class TopicsMissingError(TopicsError):
    """Topics of the map do not exist in Kafka."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        super().__init__(f"Kafka has no topic {', '.join(self.names)}: create the topics of the map first")


@dataclass(frozen=True, slots=True, order=True)
class Difference:
    """A setting of a topic that is not as on the map."""

    topic: str
    setting: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.topic}: {self.setting} should be {self.expected}, is {self.found}"


class TopicsDifferError(TopicsError):
    """Topics in Kafka are not as on the map; nothing was changed."""

    def __init__(self, differences: Iterable[Difference]) -> None:
        self.differences = tuple(sorted(differences))
        lines = (f"  {difference}" for difference in self.differences)
        advice = (
            "Change the topic in Kafka, or the map (topics.yaml; for the history of a table pipeline.yaml);"
            " penstock changes no topic that exists."
        )
        super().__init__("\n".join(("Topics in Kafka are not as on the map:", *lines, advice)))
