from penstock.enrichment.intake import Position, Refusal, rejected_change
from penstock.tables.v1.rejected_change_pb2 import CHANGE_REFUSAL_MALFORMED

PLACE = Position("cdc.app.profiles", 2, 30)
REFUSAL = Refusal(CHANGE_REFUSAL_MALFORMED, "the value is no JSON")


def test_a_dead_letter_says_what_where_and_why() -> None:
    letter = rejected_change("profiles", PLACE, REFUSAL, b"k", b"value", 99)
    assert (letter.table, letter.reason, letter.detail, letter.rejected_us) == ("profiles", *REFUSAL, 99)
    assert (letter.source.topic, letter.source.partition, letter.source.offset) == PLACE
    assert (letter.key, letter.value, letter.value_cut) == (b"k", b"value", False)


def test_what_is_too_large_is_cut_and_said_to_be() -> None:
    letter = rejected_change("profiles", PLACE, REFUSAL, b"k" * 100_000, b"value", 99, value_bytes_max=2)
    assert (letter.value, letter.value_cut, len(letter.key)) == (b"va", True, 65_536)


def test_what_was_not_there_is_not_there() -> None:
    letter = rejected_change("profiles", PLACE, REFUSAL, None, None, 99)
    assert not letter.HasField("key")
    assert not letter.HasField("value")
