from penstock.pipeline import load as load_pipeline
from penstock.topics import load, loads, missing_keys, missing_messages


def test_every_message_of_the_shipped_map_exists_and_has_the_key() -> None:
    topic_map = load().for_tables(load_pipeline().tables)
    assert missing_messages(topic_map) == []
    assert missing_keys(topic_map) == []


def test_a_message_that_is_defined_nowhere_is_missing(small: str) -> None:
    text = small.replace("penstock.events.v1.Event", "penstock.events.v1.Evnt")
    text = text.replace("penstock.events.v1.RejectedBatch", "penstock.nowhere.v1.RejectedBatch")
    assert missing_messages(loads(text, "m")) == [
        "things.made.v1: penstock.events.v1.Evnt",
        "things.odd.v1: penstock.nowhere.v1.RejectedBatch",
    ]
    assert missing_keys(loads(text, "m")) == []


def test_a_key_that_is_no_field_is_missing(small: str) -> None:
    assert missing_keys(loads(small.replace("key: key", "key: subject"), "m")) == [
        "things.made.v1: penstock.events.v1.Event.subject"
    ]
