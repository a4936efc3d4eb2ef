import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.delivery.numbers import post_key, post_number, user_number
from penstock.delivery.rows import FollowRow, PostRow, Rows
from penstock.events.v1.event_pb2 import Position, RowVersion
from penstock.pipeline import example, load, loads, row_key
from penstock.tables.v1.row_change_pb2 import OP_DELETE, OP_TRUNCATE, OP_UNSPECIFIED, OP_UPSERT, Op, RowChange
from penstock.timeline.v1.delivery_pb2 import Post

SOCIAL = Rows(load())
# Other names, another order, ids of two columns, columns of the key among those that are kept.
OTHER = Rows(
    loads(
        """
version: 1
event_types: {noted: {about: A., required: [realm, note, who], optional: [text], upserts: {table: notes}}}
tables:
  notes: {source: events, key: [realm, who, note], partitioned_by: who}
  fans: {source: {debezium: {topic: cdc.fans}}, key: [star, fan], partitioned_by: star}
timeline:
  posts: {table: notes, author: who}
  follows: {table: fans, follower: fan, author: star}
""",
        "other",
    )
)
TEXTS = st.text(alphabet="/%25Fabü") | st.text()
TIMES = st.integers(-(2**63), 2**63 - 1)
POSITIONS = st.binary(min_size=1, max_size=30)


def change(table: str, *key: str, op: Op.ValueType = OP_UPSERT, **columns: str) -> RowChange:
    version = RowVersion(valid_from_us=1_000, position=b"here")
    source = Position(topic="events.raw.v1", partition=1, offset=2)
    return RowChange(table=table, key=row_key(key), op=op, columns=columns, version=version, source=source)


def test_a_post_is_what_its_row_says() -> None:
    row = SOCIAL.post(change("posts", "ann", "p1", text="Hello", language="en"))
    key = post_key("ann", "p1")
    number = post_number(key, 1_000, b"here")
    assert row[:5] == ("ann", "p1", True, 1_000, b"here")
    assert (row.key, row.number) == (key, number)
    assert Post.FromString(row.payload or b"") == Post(
        id="p1",
        author="ann",
        time_us=1_000,
        attributes={"text": "Hello", "language": "en"},
        version=RowVersion(valid_from_us=1_000, position=b"here"),
        number=number,
    )


def test_a_post_that_is_gone_has_a_version_and_nothing_to_show() -> None:
    row = SOCIAL.post(change("posts", "ann", "p1", op=OP_DELETE))
    key = post_key("ann", "p1")
    assert row == PostRow("ann", "p1", False, 1_000, b"here", None, key, post_number(key, 1_000, b"here"))


@pytest.mark.parametrize("bound", [None, 0, 7, 2**40])
def test_the_bound_of_the_time_is_kept_and_kept_absent(bound: int | None) -> None:
    one = change("posts", "ann", "p1")
    if bound is not None:
        one.error_bound_us = bound
    post = Post.FromString(SOCIAL.post(one).payload or b"")
    assert (post.error_bound_us if post.HasField("error_bound_us") else None) == bound


def test_what_the_key_says_is_no_attribute() -> None:
    row = OTHER.post(change("notes", "r", "ann", "n", realm="r", who="ann", note="n", text="Hello"))
    assert (row.author, row.id) == ("ann", "r/n")
    assert dict(Post.FromString(row.payload or b"").attributes) == {"text": "Hello"}


@given(TEXTS, TEXTS, st.dictionaries(TEXTS, TEXTS), TIMES, POSITIONS)
def test_the_same_change_makes_the_same_bytes(
    author: str, post_id: str, columns: dict[str, str], time_us: int, position: bytes
) -> None:
    made = change("posts", author, post_id)
    made.version.valid_from_us, made.version.position = time_us, position
    again = RowChange.FromString(made.SerializeToString())
    made.columns.update(columns)
    again.columns.update(dict(reversed(columns.items())))
    row = SOCIAL.post(made)
    assert SOCIAL.post(again) == row
    assert row[:5] == (author, row_key((post_id,)), True, time_us, position)
    post = Post.FromString(row.payload or b"")
    assert (post.author, post.id, post.time_us, post.number) == (author, row.id, time_us, row.number)
    assert (post.version, dict(post.attributes)) == (made.version, columns)
    assert post.SerializeToString(deterministic=True) == row.payload


@given(st.tuples(TEXTS, TEXTS, TEXTS), st.tuples(TEXTS, TEXTS, TEXTS))
def test_different_posts_of_an_author_have_different_ids(one: tuple[str, ...], two: tuple[str, ...]) -> None:
    rows = [OTHER.post(change("notes", *key, op=OP_DELETE)) for key in (one, two)]
    assert [row.author for row in rows] == [one[1], two[1]]
    assert (rows[0][:2] == rows[1][:2]) == (one == two)


@given(TEXTS, TEXTS, st.booleans(), TIMES, POSITIONS)
def test_a_follow_is_what_its_row_says(follower: str, author: str, alive: bool, time_us: int, position: bytes) -> None:
    expected = FollowRow(follower, author, alive, time_us, position, user_number(follower))
    for rows, table, key in ((SOCIAL, "follows", (follower, author)), (OTHER, "fans", (author, follower))):
        made = change(table, *key, op=OP_UPSERT if alive else OP_DELETE)
        made.version.valid_from_us, made.version.position = time_us, position
        assert rows.follow(made) == expected


@pytest.mark.parametrize(
    ("spoilt", "fault"),
    [
        ({"table": "profiles"}, "a change of table 'profiles', key 'a/b': its table is not '{table}'"),
        ({"op": OP_TRUNCATE, "key": ""}, "key '': it truncates the table, which is not about one row"),
        ({"op": OP_UNSPECIFIED}, "its op is 0, which this release does not know"),
        ({"op": 9}, "its op is 9, which this release does not know"),
        ({"version": RowVersion(valid_from_us=5)}, "it has no version, so nobody can say which of two changes counts"),
        ({"key": "a"}, "a change of table '{table}', key 'a': its key is not one value for each of {columns}"),
        ({"key": "a/b/c"}, "its key is not one value for each of {columns}"),
        ({"key": "a/50%"}, "a change of table '{table}', key 'a/50%': '%' in a key stands for nothing"),
    ],
)
def test_what_is_no_change_of_a_row_is_refused_with_the_reason(spoilt: dict[str, object], fault: str) -> None:
    for table, read, columns in (
        ("posts", SOCIAL.post, "author, post_id"),
        ("follows", SOCIAL.follow, "follower, author"),
    ):
        fields: dict[str, object] = {"table": table, "key": "a/b", "op": OP_UPSERT}
        fields["version"] = RowVersion(valid_from_us=5, position=b"p")
        with pytest.raises(ValueError) as caught:
            read(RowChange(**(fields | spoilt)))  # type: ignore[arg-type]  # any field
        assert fault.format(table=table, columns=columns) in str(caught.value)


def test_a_pipeline_without_timelines_has_no_such_rows() -> None:
    with pytest.raises(ValueError, match="lacks the section `timeline:`"):
        Rows(loads(example("shop"), "shop.yaml"))
