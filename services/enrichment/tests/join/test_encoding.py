from hypothesis import example, given
from hypothesis import strategies as st
from penstock.enrichment.join.encoding import sized, tag, varint
from penstock.events.v1.event_pb2 import Event, Position, RowVersion

INT64 = st.integers(-(2**63), 2**63 - 1)


@given(INT64)
@example(0)
@example(127)
@example(128)
@example((1 << 14) - 1)
@example(1 << 14)
@example((1 << 42) - 1)
@example(1 << 42)
@example((1 << 56) - 1)
@example(1 << 56)
@example(-1)
def test_a_number_reads_as_protobuf_wrote_it(number: int) -> None:
    field = tag(RowVersion.VALID_FROM_US_FIELD_NUMBER, sized=False)
    assert RowVersion.FromString(field + varint(number)).valid_from_us == number
    if number:
        assert field + varint(number) == RowVersion(valid_from_us=number).SerializeToString()


@given(st.integers(0, 20_000))
def test_something_with_a_size_is_as_protobuf_writes_it(size: int) -> None:
    text = "x" * size
    ours = sized(tag(Position.TOPIC_FIELD_NUMBER, sized=True), text.encode())
    assert Position.FromString(ours).topic == text


def test_a_field_above_fifteen_has_a_tag_of_two_bytes() -> None:
    assert sized(tag(Event.KEY_FIELD_NUMBER, sized=True), b"k") == Event(key="k").SerializeToString()
