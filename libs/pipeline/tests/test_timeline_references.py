from collections.abc import Callable

import pytest
from penstock.pipeline import loads

Faults = Callable[[str], list[str]]
SOUND = """\
version: 1
event_types:
  post.made: {about: A., required: [author, post_id], upserts: {table: posts}}
  reader.came: {about: A., required: [reader, author, since], upserts: {table: follows}}
tables:
  posts:
    source: events
    key: [author, post_id]
    partitioned_by: author
  follows:
    source: events
    key: [reader, author]
    partitioned_by: author
timeline:
  posts: {table: posts, author: author}
  follows: {table: follows, follower: reader, author: author}
"""
POSTS, FOLLOWS = "timeline.posts", "timeline.follows"
APART = "so posts and the followers of their author would not meet"

# Each replacement breaks one thing and nothing else.
BROKEN = [
    ("{table: posts, author", "{table: post, author", f"15:18: {POSTS}.table: 'post' is not a table;"
     " did you mean 'posts'?"),
    ("{table: follows, f", "{table: likes, f", f"16:20: {FOLLOWS}.table: 'likes' is not a table;"
     " known here: follows, posts"),
    ("{table: follows, f", "{table: posts, f", f"16:20: {FOLLOWS}.table: posts has the posts already;"
     " name the table that has who follows whom"),
    ("posts, author: author}", "posts, author: autor}", f"15:33: {POSTS}.author: 'autor' is not part of the key of"
     " posts; did you mean 'author'?"),
    ("key: [author, post_id]", "key: post_id", f"15:33: {POSTS}.author: 'author' is not part of the key of posts;"
     " say `key: [author, post_id]` of posts"),
    ("key: [author, post_id]", "key: author", f"15:18: {POSTS}.table: the key of posts is author alone, so an author"
     " could have only one post; add the column of the post's id to `key:` of posts"),
    ("post_id]\n    partitioned_by: author", "post_id]\n    partitioned_by: post_id",
     f"15:33: {POSTS}.author: posts is partitioned by post_id, {APART}; say `partitioned_by: author` of posts"),
    ("post_id]\n    partitioned_by: author\n", "post_id]\n",
     f"14:33: {POSTS}.author: posts is partitioned by its key, {APART}; say `partitioned_by: author` of posts"),
    ("author]\n    partitioned_by: author", "author]\n    partitioned_by: reader",
     f"16:55: {FOLLOWS}.author: follows is partitioned by reader, {APART}; say `partitioned_by: author` of follows"),
    ("author]\n    partitioned_by: author\n", "author]\n",
     f"15:55: {FOLLOWS}.author: follows is partitioned by its key, {APART}; say `partitioned_by: author` of follows"),
    ("follower: reader", "follower: readr", f"16:39: {FOLLOWS}.follower: 'readr' is not part of the key of follows;"
     " did you mean 'reader'?"),
    ("follower: reader", "follower: fan", f"16:39: {FOLLOWS}.follower: 'fan' is not part of the key of follows;"
     " say `key: [fan, author]` of follows"),
    ("follower: reader", "follower: author", f"16:39: {FOLLOWS}.follower: 'author' is the column of the author;"
     " name the column that says who follows"),
    ("reader, author: author", "reader, author: athor", f"16:55: {FOLLOWS}.author: 'athor' is not part of the key of"
     " follows; did you mean 'author'?"),
    ("key: [reader, author]", "key: [since, reader, author]", f"16:20: {FOLLOWS}.table: the key of follows is since,"
     " reader, author, so a user could follow an author more than once; say `key: [reader, author]` of follows"),
]  # fmt: skip


@pytest.mark.parametrize(("sound", "spoilt", "fault"), BROKEN)
def test_each_thing_that_makes_no_timeline_has_its_line_and_a_remedy(
    faults: Faults, sound: str, spoilt: str, fault: str
) -> None:
    assert SOUND.count(sound) == 1
    assert faults(SOUND.replace(sound, spoilt)) == [fault]


@pytest.mark.parametrize(
    ("sound", "other"),
    [
        ("key: [reader, author]", "key: [author, reader]"),
        ("key: [author, post_id]", "key: [post_id, author]"),
        ("    source: events\n    key: [reader", "    source: {debezium: {topic: cdc.f}}\n    key: [reader"),
        ("    source: events\n    key: [author", "    source: {debezium: {topic: cdc.p}}\n    key: [author"),
        ("required: [author, post_id]", "required: [author, realm, post_id]"),
    ],
)
def test_keys_may_be_in_any_order_and_rows_of_any_source(sound: str, other: str) -> None:
    text = SOUND.replace(sound, other)
    for table in ("posts", "follows"):
        if "debezium" in text.split(f"  {table}:\n")[1].splitlines()[0]:
            text = text.replace(f", upserts: {{table: {table}}}", "")
    if "realm" in other:
        text = text.replace("key: [author, post_id]", "key: [realm, author, post_id]")
    assert loads(text, "p").timeline is not None


def test_every_fault_comes_at_once(faults: Faults) -> None:
    text = SOUND.replace("posts, author: author}", "posts, author: x}").replace("partitioned_by: author", "")
    assert [fault.split(": ")[1] for fault in faults(text)] == [f"{POSTS}.author", f"{FOLLOWS}.author"]


@pytest.mark.parametrize(
    ("sound", "spoilt", "count"),
    [
        ("key: [author, post_id]", "key: {}", 1),
        ("key: [reader, author]", "key: 7", 1),
        ("post_id]\n    partitioned_by: author", "post_id]\n    partitioned_by: 5", 1),
        ("author]\n    partitioned_by: author", "author]\n    partitioned_by: []", 1),
        ("{table: posts, author: author}", "posts", 1),
        ("{table: posts, author: author}", "{table: 5, author: []}", 2),
        ("{table: follows, follower: reader, author: author}", "{table: follows, follower: reader}", 1),
        ("{table: follows, follower: reader, author: author}", "[]", 1),
    ],
)
def test_what_cannot_be_read_makes_nothing_else_look_wrong(faults: Faults, sound: str, spoilt: str, count: int) -> None:
    assert SOUND.count(sound) == 1
    assert len(faults(SOUND.replace(sound, spoilt))) == count


@pytest.mark.parametrize("timeline", ["5", "[]", "{}", "{posts: 5, follows: []}", "posts"])
def test_any_text_gives_faults_and_no_other_error(faults: Faults, timeline: str) -> None:
    assert faults(f"version: 1\nevent_types: {{a: {{about: A.}}}}\ntimeline: {timeline}\n")


def test_without_tables_there_is_nothing_to_refer_to(faults: Faults) -> None:
    text = "version: 1\nevent_types: {a: {about: A.}}\n" + SOUND[SOUND.index("timeline:") :]
    assert [fault.split("; ")[1] for fault in faults(text)] == ["declare it in `tables:`"] * 2
