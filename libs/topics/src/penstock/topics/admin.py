"""Asks Kafka about topics, within one deadline.

In:  names of topics as Kafka knows them.
Out: what Kafka says of them; silence is `KafkaUnreachableError`, a no is `TopicsRefusedError`.
A topic that does not exist is absent from an answer, never an error, and never created by asking.
"""

import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but missing from its __all__
    AdminClient,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)
from penstock.topics.errors import KafkaUnreachableError, TopicsRefusedError
from penstock.topics.shape import Shape

_SILENCE = {
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._RESOLVE,
    KafkaError._AUTHENTICATION,
    KafkaError.REQUEST_TIMED_OUT,
}
# Known to the controller, not yet to the broker that is to lead it.
_NO_LEADER_YET = (
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
)
_UNKNOWN = -1
_POLL_S = 0.05
SubjectT = TypeVar("SubjectT", bound=Hashable)


class Admin:
    """An admin client, and the time that it has left."""

    def __init__(self, client_config: Mapping[str, str], timeout_s: float) -> None:
        self._servers = client_config.get("bootstrap.servers", "(no bootstrap.servers given)")
        self._timeout_s = timeout_s
        self._ends_at_s = time.monotonic() + timeout_s
        self._last_error = ""
        # Or else every failed attempt to connect would be a line on the screen; `_note` keeps the last one.
        settings: dict[str, Any] = {"log_level": "2", **client_config, "error_cb": self._note}
        self._client = AdminClient(settings)

    def create(self, shapes: Mapping[str, Shape]) -> set[str]:
        """Create topics, and name those that were created; the others exist already."""
        if not shapes:
            return set()
        topics = [
            NewTopic(name, shape.partitions, shape.replicas, config=dict(shape.settings))
            for name, shape in shapes.items()
        ]
        left_s = self._left_s()
        asked = self._client.create_topics(topics, operation_timeout=left_s, request_timeout=left_s)
        return set(self._answers("create topics", asked, KafkaError.TOPIC_ALREADY_EXISTS))

    def replicas(self, topics: Iterable[str]) -> dict[str, list[int]]:
        """Count the replicas of each partition, for the topics that exist."""
        if not (names := list(topics)):
            return {}
        asked = self._client.describe_topics(TopicCollection(names), request_timeout=self._left_s())
        answers = self._answers("describe topics", asked, KafkaError.UNKNOWN_TOPIC_OR_PART)
        return {name: [len(partition.replicas) for partition in answer.partitions] for name, answer in answers.items()}

    def ids(self, topics: Iterable[str]) -> dict[str, str]:
        """Kafka's own id of each topic that exists: another one if it was deleted and made anew."""
        asked = self._client.describe_topics(TopicCollection(list(topics)), request_timeout=self._left_s())
        answers = self._answers("describe topics", asked, KafkaError.UNKNOWN_TOPIC_OR_PART)
        return {name: str(answer.topic_id) for name, answer in answers.items()}

    def shapes(self, topics: Iterable[str]) -> dict[str, Shape]:
        """Read the shapes of the topics that every broker asked knows already."""
        names = list(topics)
        replicas, settings = self.replicas(names), self._settings(names)
        return {
            name: Shape(len(replicas[name]), min(replicas[name]), settings[name])
            for name in names
            if name in replicas and name in settings
        }

    def first_offsets(self, partitions: Mapping[str, int]) -> dict[str, list[int]]:
        """Look up the first offset of every partition, once it has a leader, given each topic's partitions."""
        return self._offsets(partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]  # not annotated there

    def end_offsets(self, partitions: Mapping[str, int]) -> dict[str, list[int]]:
        """Look up the offset that every partition's next record will have, once it has a leader."""
        return self._offsets(partitions, OffsetSpec.latest())  # type: ignore[no-untyped-call]  # not annotated there

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Ask again and again until the condition holds."""
        while not condition():
            # Kafka cannot call back when a topic becomes visible, so asking again is all there is.
            time.sleep(min(_POLL_S, self._left_s()))

    def _settings(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        if not (resources := [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]):
            return {}
        asked = self._client.describe_configs(resources, request_timeout=self._left_s())
        answers = self._answers("read the settings of topics", asked, KafkaError.UNKNOWN_TOPIC_OR_PART)
        return {
            resource.name: {setting: str(entry.value) for setting, entry in entries.items()}
            for resource, entries in answers.items()
        }

    def _offsets(self, partitions: Mapping[str, int], spec: Any) -> dict[str, list[int]]:
        offsets = {name: [_UNKNOWN] * count for name, count in partitions.items()}

        def ask() -> bool:
            left = {
                TopicPartition(name, number): spec
                for name, known in offsets.items()
                for number, offset in enumerate(known)
                if offset == _UNKNOWN
            }
            asked = self._client.list_offsets(left, request_timeout=self._left_s()) if left else {}
            answers = self._answers("look up offsets", asked, *_NO_LEADER_YET)
            for place, answer in answers.items():
                offsets[place.topic][place.partition] = answer.offset
            return len(answers) == len(left)

        self.wait_until(ask)
        return offsets

    def _answers(self, request: str, asked: Mapping[SubjectT, "Future[Any]"], *expected: int) -> dict[SubjectT, Any]:
        """Await every answer, leave out the expected refusals, raise the unexpected ones together."""
        answers, refusals = {}, []
        for subject, future in asked.items():
            try:
                answers[subject] = future.result(timeout=self._left_s())
            except FutureTimeoutError:
                raise self._unreachable("") from None
            except KafkaException as exception:
                error: KafkaError = exception.args[0]
                if error.code() in _SILENCE:
                    raise self._unreachable(error.str()) from exception
                if error.code() not in expected:
                    refusals.append((_named(subject), error.str()))
                self._last_error = error.str()
        if refusals:
            raise TopicsRefusedError(request, refusals)
        return answers

    def _left_s(self) -> float:
        left_s = self._ends_at_s - time.monotonic()
        if left_s <= 0:
            raise self._unreachable("")
        return left_s

    def _unreachable(self, error: str) -> KafkaUnreachableError:
        # Serves `_note`: what it hears, such as "connection refused", says more than a timeout.
        self._client.poll(0)
        return KafkaUnreachableError(self._servers, self._timeout_s, self._last_error or error)

    def _note(self, error: KafkaError) -> None:
        if error.code() != KafkaError._ALL_BROKERS_DOWN or not self._last_error:
            self._last_error = error.str()


def _named(subject: object) -> str:
    if isinstance(subject, TopicPartition):
        return f"{subject.topic}[{subject.partition}]"
    return str(subject.name if isinstance(subject, ConfigResource) else subject)
