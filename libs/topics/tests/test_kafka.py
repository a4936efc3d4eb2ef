"""What needs no Kafka; integration-tests/test_topics.py has the rest."""

import pytest
from penstock.topics import load
from penstock.topics.errors import KafkaUnreachableError
from penstock.topics.kafka import LivePartition, LiveTopic, describe, ensure

# Port 1 is reserved and nothing listens there: connections are refused at once.
NOBODY = {"bootstrap.servers": "127.0.0.1:1"}


def test_records_are_what_lies_between_the_offsets() -> None:
    topic = LiveTopic("t", "x-t", (LivePartition(0, 5, 8), LivePartition(1, 0, 2)))
    assert (topic.exists, topic.records) == (True, 5)
    assert LiveTopic("t", "x-t", ()).exists is False


@pytest.mark.parametrize("call", [ensure, describe])
def test_a_kafka_that_does_not_answer_is_an_error_in_time(call: object) -> None:
    assert callable(call)
    with pytest.raises(KafkaUnreachableError, match=r"127\.0\.0\.1:1 did not answer within 0\.5 s.*refused"):
        call(NOBODY, load(), timeout_s=0.5)


def test_a_name_that_is_not_on_the_map_is_refused_before_kafka_is_asked() -> None:
    with pytest.raises(KeyError, match=r"no topic events\.rwa\.v1 on the map"):
        ensure(NOBODY, load(), names=["events.rwa.v1"])
