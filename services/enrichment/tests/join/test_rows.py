from hypothesis import given
from hypothesis import strategies as st
from penstock.enrichment.join.rows import RowWriter, position_of
from penstock.events.v1.event_pb2 import Event, Position, RowVersion
from penstock.pipeline import load, row_key
from penstock.tables.v1.row_change_pb2 import OP_DELETE, OP_UPSERT, RowChange
from penstock.topics import load as load_topics
from penstock.topics import murmur2_partition

PIPELINE = load()
TOPICS = load_topics().for_tables(PIPELINE.tables)
SOURCE = Position(topic="events.raw.v1", partition=3, offset=9)
NAMES = ["author", "post_id", "text", "language", "reply_to", "other"]
ATTRIBUTES = st.dictionaries(st.sampled_from(NAMES), st.text(max_size=200))


@given(ATTRIBUTES, st.integers(0, 2**55), st.none() | st.integers(0, 2**55))
def test_a_row_is_what_messages_would_have_made(attributes: dict[str, str], t_us: int, bound_us: int | None) -> None:
    event = Event(type="post.created", seq=1, attributes=attributes)
    written = RowWriter(PIPELINE, TOPICS).change(event, t_us, bound_us, b"position", SOURCE.SerializeToString())
    table = PIPELINE.tables["posts"]
    columns = PIPELINE.columns_of("posts")
    expected = RowChange(
        table="posts",
        key=row_key([attributes.get(name, "") for name in table.key]),
        op=OP_UPSERT,
        columns={name: value for name, value in attributes.items() if value and (columns is None or name in columns)},
        version=RowVersion(valid_from_us=t_us, position=b"position"),
        source=SOURCE,
        error_bound_us=bound_us,
    )
    assert RowChange.FromString(written.value or b"") == expected
    assert written.key == expected.key.encode()
    subject = attributes.get(table.partitioned_by, "") if table.partitioned_by else expected.key
    assert written.partition == murmur2_partition(subject.encode(), TOPICS[TOPICS.tables["posts"]].partitions)


def test_a_delete_carries_the_key_alone() -> None:
    event = Event(type="post.deleted", seq=1, attributes={"author": "ann", "post_id": "1", "text": "x"})
    written = RowWriter(PIPELINE, TOPICS).change(event, 5, 3, b"p", SOURCE.SerializeToString())
    change = RowChange.FromString(written.value or b"")
    assert change.op == OP_DELETE
    assert not change.columns
    assert change.error_bound_us == 3


def test_the_order_of_attributes_makes_no_difference() -> None:
    pairs = [("author", "ann"), ("post_id", "7"), ("text", "x"), ("language", "en")]
    writer = RowWriter(PIPELINE, TOPICS)
    values = {
        writer.change(Event(type="post.created", attributes=dict(order)), 5, None, b"p", b"").value
        for order in (pairs, pairs[::-1])
    }
    assert len(values) == 1


def test_it_knows_which_types_change_a_table() -> None:
    writer = RowWriter(PIPELINE, TOPICS)
    assert "post.created" in writer
    assert "page.viewed" not in writer


def test_positions_differ_where_identities_do() -> None:
    one, two = Event(seq=1), Event(id="1")
    assert len({position_of("d", "b", one), position_of("d", "b", two), position_of("d", "c", one)}) == 3
