from collections.abc import Callable

import pytest
from penstock.pipeline import Timeline, TimelineFollows, TimelinePosts, example, json_schema, load, loads

Faults = Callable[[str], list[str]]
SOUND = """\
version: 1
event_types:
  post.made:
    about: A post.
    required: [author, post_id]
    upserts: {table: posts}
tables:
  posts: {source: events, key: [author, post_id], partitioned_by: author}
  follows: {source: {debezium: {topic: cdc.f}}, key: [reader, author], partitioned_by: author}
timeline:
  posts: {table: posts, author: author}
  follows:
    table: follows
    follower: reader
    author: author
  capacity: 100
  slack: 20
  merge_at_read_above: 5000
"""


def test_a_sound_section_is_read_as_written() -> None:
    assert loads(SOUND, "p").timeline == Timeline(
        posts=TimelinePosts(table="posts", author="author"),
        follows=TimelineFollows(table="follows", follower="reader", author="author"),
        capacity=100,
        slack=20,
        merge_at_read_above=5000,
    )


def test_the_social_pipeline_has_timelines_and_the_shop_has_none() -> None:
    social = load().timeline
    assert social is not None
    assert (social.posts.table, social.posts.author) == ("posts", "author")
    assert (social.follows.table, social.follows.follower, social.follows.author) == ("follows", "follower", "author")
    assert (social.capacity, social.slack, social.merge_at_read_above) == (800, 200, 100_000)
    assert loads(example("shop"), "shop.yaml").timeline is None


def test_the_numbers_may_be_left_out_and_are_those_of_the_social_pipeline() -> None:
    timeline, social = loads(SOUND[: SOUND.index("  capacity")], "p").timeline, load().timeline
    assert timeline is not None
    assert social is not None
    numbers = ("capacity", "slack", "merge_at_read_above")
    assert [getattr(timeline, name) for name in numbers] == [getattr(social, name) for name in numbers]


@pytest.mark.parametrize(
    ("sound", "spoilt", "where", "remedy"),
    [
        ("capacity: 100", "capacity: 0", "16:13: timeline.capacity", "greater than or equal to 1"),
        ("capacity: 100", "capacity: 10001", "16:13: timeline.capacity", "less than or equal to 10000"),
        ("capacity: 100", "capacity: lots", "16:13: timeline.capacity", "should be a whole number"),
        ("slack: 20", "slack: 0", "17:10: timeline.slack", "greater than or equal to 1"),
        ("slack: 20", "slack: 10001", "17:10: timeline.slack", "less than or equal to 10000"),
        ("above: 5000", "above: -1", "18:24: timeline.merge_at_read_above", "greater than or equal to 0"),
        ("slack: 20", "slak: 20", "17:3: timeline.slak", "did you mean 'slack'?"),
        ("    follower: reader\n", "", "12:3: timeline.follows", "part of the key, that says who follows)"),
        ("  posts: {table: posts, author: author}\n", "", "10:1: timeline", "which of its columns their author)"),
        ("{table: posts, ", "{table: Posts, ", "11:18: timeline.posts.table", "such as profiles"),
        ("follower: reader", "follower: a-b", "14:15: timeline.follows.follower", "such as country"),
        ("follower: reader", "follower: 5", "14:15: timeline.follows.follower", "should be text (quotes make it text)"),
    ],
)
def test_each_fault_has_its_line_and_a_remedy(faults: Faults, sound: str, spoilt: str, where: str, remedy: str) -> None:
    found = faults(changed(sound, spoilt))
    assert [fault for fault in found if fault.startswith(f"{where}: ") and fault.endswith(remedy)], found


def test_the_schema_has_the_section() -> None:
    schema = json_schema()
    assert schema["properties"]["timeline"]["anyOf"] == [{"$ref": "#/$defs/Timeline"}, {"type": "null"}]
    section = schema["$defs"]["Timeline"]
    assert section["required"] == ["posts", "follows"]
    assert section["properties"]["capacity"] | {"description": ""} == {
        "default": 800,
        "description": "",
        "maximum": 10_000,
        "minimum": 1,
        "title": "Capacity",
        "type": "integer",
    }


def changed(sound: str, spoilt: str) -> str:
    before, found, after = SOUND.rpartition(sound)
    assert found
    return before + spoilt + after
