from penstock.topics.errors import Difference, KafkaUnreachableError, TopicsDifferError, TopicsRefusedError


def test_differences_are_listed_by_topic_with_advice() -> None:
    error = TopicsDifferError([Difference("b", "partitions", "4", "3"), Difference("a", "retention.ms", "1", "2")])
    assert str(error).splitlines() == [
        "Topics in Kafka are not as on the map:",
        "  a: retention.ms should be 1, is 2",
        "  b: partitions should be 4, is 3",
        "Change the topic in Kafka, or the map (topics.yaml; for the history of a table pipeline.yaml);"
        " penstock changes no topic that exists.",
    ]


def test_silence_names_the_address_the_time_and_the_last_error() -> None:
    text = str(KafkaUnreachableError("localhost:1", 2.5, "Connection refused"))
    assert "Kafka at localhost:1 did not answer within 2.5 s. The last error was: Connection refused." in text


def test_refusals_are_listed_by_topic() -> None:
    error = TopicsRefusedError("create topics", [("a", "not authorized")])
    assert str(error) == "Kafka refused to create topics:\n  a: not authorized"
