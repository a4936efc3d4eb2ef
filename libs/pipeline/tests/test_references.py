from collections.abc import Callable

import pytest
from penstock.pipeline import loads

Faults = Callable[[str], list[str]]
MADE, GONE = "event_types.post.made", "event_types.post.gone"


def test_what_refers_to_something_is_sound(small: str) -> None:
    assert len(loads(small, "p").enrichments) == 2


# Each replacement breaks one reference and nothing else.
BROKEN = [
    (
        "upserts: {table: posts}",
        "upserts: {table: psots}",
        f"7:22: {MADE}.upserts.table: 'psots' is not a table; did you mean 'posts'?",
    ),
    (
        "deletes: {table: posts}",
        "deletes: {table: users}",
        f"11:22: {GONE}.deletes.table: the rows of users come from a database, so no event may change them;"
        " change them there, or say `source: events` of the table",
    ),
    (
        "    upserts: {table: posts}\n",
        "    upserts: {table: posts}\n    deletes: {table: posts}\n",
        f"8:22: {MADE}.deletes.table: the same event upserts a row of posts; let it do one of both",
    ),
    (
        "required: [author, post_id]\n    deletes",
        "required: [author, post_nr]\n    deletes",
        f"11:14: {GONE}.deletes: 'post_id' is part of the key of posts, but some events could lack it;"
        " did you mean 'post_nr'?",
    ),
    (
        "required: [author, post_id]\n    deletes",
        "required: [post_id]\n    deletes",
        f"11:14: {GONE}.deletes: 'author' chooses the partition of posts, but some events could lack it;"
        " add it: `required: [post_id, author]`",
    ),
    (
        "required: [author, post_id]\n    deletes",
        "required: [post_id]\n    optional: [author]\n    deletes",
        f"12:14: {GONE}.deletes: 'author' chooses the partition of posts, but some events could lack it;"
        " move it from `optional` to `required` of post.gone",
    ),
    (
        "    upserts: {table: posts}\n",
        "",
        "13:13: tables.posts.source: no event type upserts posts, so it would never have a row;"
        " add `upserts: {table: posts}` to the type of event that makes them",
    ),
    (
        "columns: [author, text]",
        "columns: [author, txt]",
        "16:23: tables.posts.columns[1]: no event type that upserts posts declares the attribute 'txt';"
        " did you mean 'text'?",
    ),
    (
        "columns: [author, text]",
        "columns: [text]",
        "17:21: tables.posts.partitioned_by: 'author' is neither part of the key nor a column;"
        " known here: post_id, text",
    ),
    (
        "partitioned_by: author",
        "partitioned_by: autor",
        "17:21: tables.posts.partitioned_by: 'autor' is neither part of the key nor a column; did you mean 'author'?",
    ),
    (
        "partitioned_by: realm",
        "partitioned_by: plan",
        "23:21: tables.users.partitioned_by: 'plan' is not part of the key, and of a deleted row the database tells"
        " only the key; known here: name, realm",
    ),
    (
        "enrichments:\n",
        "  people: {source: {debezium: {topic: cdc.app.users}}, key: id}\nenrichments:\n",
        "24:39: tables.people.source.debezium.topic: cdc.app.users is the source of users already;"
        " declare one table, and join with users twice",
    ),
    (
        "event_type: post.made",
        "event_type: post.mode",
        "25:17: enrichments[0].event_type: 'post.mode' is not an event type; did you mean 'post.made'?",
    ),
    (
        "table: users",
        "table: user",
        "26:12: enrichments[0].table: 'user' is not a table; did you mean 'users'?",
    ),
    (
        "on: [author, post_id]",
        "on: [author, text]",
        "27:18: enrichments[0].on[1]: 'text' is not among the required attributes of post.made;"
        " move it from `optional` to `required` of post.made",
    ),
    (
        "on: post_id,",
        "on: post,",
        "31:47: enrichments[1].on: 'post' is not among the required attributes of post.made; did you mean 'post_id'?",
    ),
    (
        "on: [author, post_id]",
        "on: author",
        "27:9: enrichments[0].on: names 1 attribute, but the key of users is realm, name;"
        " name one attribute for each part of the key, in its order",
    ),
    (
        "columns: [country]",
        "columns: [county]",
        "29:15: enrichments[0].columns[0]: 'county' is not among the columns of users; did you mean 'country'?",
    ),
    (
        "on: post_id, as: post",
        "on: post_id, as: writer",
        "31:60: enrichments[1].as: post.made has a join called 'writer' already (enrichments[0]); choose another name",
    ),
]


@pytest.mark.parametrize(("sound", "spoilt", "fault"), BROKEN)
def test_each_broken_reference_has_its_line_and_a_remedy(
    small: str, faults: Faults, sound: str, spoilt: str, fault: str
) -> None:
    assert sound in small
    assert faults(small.replace(sound, spoilt, 1)) == [fault]


def test_an_event_that_changes_the_wrong_table_leaves_the_right_one_empty(small: str, faults: Faults) -> None:
    wrong, empty = faults(small.replace("upserts: {table: posts}", "upserts: {table: users}"))
    assert wrong.startswith(f"7:22: {MADE}.upserts.table: the rows of users come from a database")
    assert empty.startswith("14:13: tables.posts.source: no event type upserts posts")


def test_references_are_checked_beside_other_faults(small: str, faults: Faults) -> None:
    text = small.replace("about: No post.", "about: ''").replace("table: users", "table: user").replace("500ms", "x")
    assert [fault.split(": ")[1] for fault in faults(text)] == [
        "event_types.post.gone.about",
        "enrichments[0].table",
        "enrichments[0].wait_for_table",
    ]


@pytest.mark.parametrize(
    ("sound", "spoilt"),
    [
        ("required: [author, post_id]", "required: author"),
        ("optional: [text]", "optional: text"),
        ("key: post_id", "key: {}"),
        ("columns: [author, text]", "columns: author"),
        ("source: events", "source: 5"),
        ("key: [realm, name]", "key: 7"),
        ("on: [author, post_id]", "on: {}"),
        ("table: users\n", "table: 5\n"),
        ("event_type: post.made", "event_type: []"),
    ],
)
def test_what_cannot_be_read_makes_nothing_else_look_wrong(small: str, faults: Faults, sound: str, spoilt: str) -> None:
    assert sound in small
    assert len(faults(small.replace(sound, spoilt, 1))) == 1


def test_without_tables_there_is_nothing_to_refer_to(faults: Faults) -> None:
    text = "version: 1\nevent_types: {a: {about: A., required: [b], upserts: {table: t}}}\n"
    assert faults(text) == ["2:62: event_types.a.upserts.table: 't' is not a table; declare it in `tables:`"]


@pytest.mark.parametrize("tables", ["5", "[]", "", "{t: 5}", "{t: []}"])
def test_any_text_gives_faults_and_no_other_error(faults: Faults, tables: str) -> None:
    assert faults(f"version: 1\nevent_types: {{a: {{about: A.}}}}\ntables: {tables}\nenrichments: {tables}\n")
