import pytest
from penstock.document import InvalidDocumentError
from penstock.pipeline import EventType, RowOf, loads
from penstock.pipeline.names import ATTRIBUTES_MAX, NAME_CHARS_MAX

SOUND = """\
version: 1
event_types:
  post.created:
    about: A post.
    required: [author, post_id]
    optional: [text]
    key: author
"""
POST = "event_types.post.created"


def faults(text: str) -> list[str]:
    with pytest.raises(InvalidDocumentError) as caught:
        loads(text, "p")
    return [str(fault) for fault in caught.value.faults]


def test_a_sound_type_is_read_as_written() -> None:
    assert loads(SOUND, "p").event_types == {
        "post.created": EventType(about="A post.", required=("author", "post_id"), optional=("text",), key="author")
    }


def test_all_but_the_sentence_may_be_left_out() -> None:
    event_type = loads("version: 1\nevent_types: {ping: {about: A ping.}}\n", "p").event_types["ping"]
    assert (event_type.required, event_type.optional, event_type.key) == ((), (), None)


def test_a_type_may_change_rows() -> None:
    changes = "    upserts: {table: posts}\n    deletes: {table: drafts}\n"
    tables = """\
  draft.made: {about: A draft., required: [post_id], upserts: {table: drafts}}
tables:
  posts: {source: events, key: post_id}
  drafts: {source: events, key: post_id}
"""
    event_type = loads(SOUND + changes + tables, "p").event_types["post.created"]
    assert (event_type.upserts, event_type.deletes) == (RowOf(table="posts"), RowOf(table="drafts"))
    assert event_type.attributes == ("author", "post_id", "text")


@pytest.mark.parametrize(
    ("changes", "where", "remedy"),
    [
        ("upserts: {tabel: posts}", "8:15: {post}.upserts.tabel", "did you mean 'table'?"),
        ("upserts: {}", "8:5: {post}.upserts", "add `table:` (A table of this pipeline whose source is events)"),
        ("upserts: posts", "8:14: {post}.upserts", "should be a mapping (`key: value` lines)"),
        ("deletes: {table: Posts}", "8:22: {post}.deletes.table", "such as profiles"),
    ],
)
def test_a_change_names_a_table(changes: str, where: str, remedy: str) -> None:
    found = faults(f"{SOUND}    {changes}\n")
    [fault] = [fault for fault in found if fault.startswith(f"{where.format(post=POST)}: ") and fault.endswith(remedy)]
    assert fault


@pytest.mark.parametrize(
    ("sound", "spoilt", "where", "remedy"),
    [
        ("post.created", "Post.created", "3:3: event_types.Post.created", "such as post.created"),
        ("post.created", "post..created", "3:3: event_types.post..created", "such as post.created"),
        ("post.created", "404", "3:3: event_types.404", "such as post.created"),
        ("    about: A post.\n", "", f"3:3: {POST}", "is sent, in a sentence)"),
        ("about: A post.", "about: 2", f"4:12: {POST}.about", "should be text (quotes make it text)"),
        ("post_id", "post-id", f"5:24: {POST}.required[1]", "such as post_id"),
        ("post_id", "author", f"5:24: {POST}.required[1]", "'author' is listed twice; remove one of them"),
        ("[author, post_id]", "author", f"5:15: {POST}.required", "should be a list"),
        ("[text]", "[text, post_id]", f"6:22: {POST}.optional[1]", "is required already; list it once"),
        ("optional", "optionl", f"6:5: {POST}.optionl", "did you mean 'optional'?"),
        ("key: author", "key: autor", f"7:10: {POST}.key", "did you mean 'author'?"),
        ("    required: [author, post_id]\n", "", f"6:10: {POST}.key", "add it: `required: [author]`"),
        ("key: author", "key: [author]", f"7:10: {POST}.key", "should be text (quotes make it text)"),
    ],
)
def test_each_fault_has_its_line_and_a_remedy(sound: str, spoilt: str, where: str, remedy: str) -> None:
    assert sound in SOUND
    [fault] = faults(SOUND.replace(sound, spoilt, 1))
    assert fault.startswith(f"{where}: ")
    assert fault.endswith(remedy)


def test_attributes_are_limited() -> None:
    names = [f"a{number}" for number in range(ATTRIBUTES_MAX)]
    most = SOUND.replace("post_id]", ", ".join(names[1:]) + "]")
    assert len(loads(most, "p").event_types["post.created"].required) == ATTRIBUTES_MAX
    [fault] = faults(SOUND.replace("post_id]", ", ".join(names) + "]"))
    assert fault == f"5:15: {POST}.required: has more than 64 entries; at most 64 are allowed"


def test_names_are_limited() -> None:
    longest = "a" * NAME_CHARS_MAX
    assert longest in loads(SOUND.replace("post.created", longest), "p").event_types
    [fault] = faults(SOUND.replace("post.created", longest + "a"))
    assert fault.endswith("has 65 characters; at most 64 are allowed")
