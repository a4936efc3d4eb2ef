from hypothesis import given
from hypothesis import strategies as st
from penstock.pipeline import references
from penstock.pipeline.draft import Draft

SECTIONS = ["tables", "event_types", "enrichments", "timeline"]
NAMES = ["source", "debezium", "topic", "key", "columns", "required", "optional", "upserts", "table", "on", "as"]
KEYS = st.sampled_from([*SECTIONS, *NAMES, "partitioned_by", "posts", "follows", "author", "follower"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["events", "t", "a", "posts", "author"]),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(KEYS, ANYTHING, max_size=4))
def test_whatever_was_written_can_be_read(document: dict[str, object]) -> None:
    draft = Draft.of(document)
    for table in draft.tables.values():
        columns = draft.columns_of(table)
        assert columns is None or all(isinstance(column, str) for column in columns)
    assert all(misfit.at[0] in SECTIONS for misfit in references.misfits(document))


def test_what_is_readable_is_read() -> None:
    draft = Draft.of(
        {
            "tables": {"t": {"source": "events", "key": ("a", "b"), "partitioned_by": "c"}, "odd": 5},
            "event_types": {"made": {"required": ("a",), "optional": ("d",), "upserts": {"table": "t"}}},
            "enrichments": ("odd", {"event_type": "made", "table": "t", "on": "a", "as": "x"}),
            "timeline": {"posts": {"table": "t", "author": 5}, "follows": {"follower": "c", "author": "b"}},
        }
    )
    table = draft.tables["t"]
    assert (table.from_events, draft.columns_of(table)) == (True, ("a", "d"))
    assert draft.addressed_by(table) == ("a", "b")  # the event has no `c`, which is a fault of the table
    assert draft.tables["odd"].from_events is None
    [enrichment] = draft.enrichments
    assert (enrichment.index, enrichment.on, enrichment.name) == (1, ("a",), "x")
    timeline = draft.timeline
    assert (timeline.posts, timeline.posts_author) == ("t", "")
    assert (timeline.follows, timeline.follower, timeline.follows_author) == ("", "c", "b")
