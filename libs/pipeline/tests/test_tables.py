from collections.abc import Callable

import pytest
from penstock.pipeline import History, Table, fingerprint, loads

Faults = Callable[[str], list[str]]
POSTS, USERS = "tables.posts", "tables.users"


def test_a_sound_table_is_read_as_written(small: str) -> None:
    tables = loads(small, "p").tables
    assert tables["posts"] == Table(
        source="events",
        key=("post_id",),
        columns=("author", "text"),
        partitioned_by="author",
        history=History(versions=5, age="12h"),
    )
    assert (tables["posts"].from_events, tables["posts"].debezium_topic) == (True, None)
    assert (tables["users"].from_events, tables["users"].debezium_topic) == (False, "cdc.app.users")
    assert (tables["users"].key, tables["users"].history_ms) == (("realm", "name"), 30 * 24 * 3_600_000)


@pytest.mark.parametrize(
    ("sound", "spoilt", "where", "remedy"),
    [
        ("source: events", "source: event", f"14:13: {POSTS}.source", "should be events, or {debezium: {topic: …}}"),
        ("source: events", "source:", f"14:5: {POSTS}.source", "is empty; should be events, or {debezium: {topic: …}}"),
        ("cdc.app.users", "cdc app", f"20:32: {USERS}.source.debezium.topic", "such as cdc.app.profiles"),
        ("    key: post_id\n", "", f"13:3: {POSTS}", "that do together)"),
        ("[country, plan]", "[country, pl-an]", f"22:24: {USERS}.columns[1]", "such as country"),
        ("versions: 5", "versions: 0", f"18:25: {POSTS}.history.versions", "greater than or equal to 1"),
        ("versions: 5", "versions: 10001", f"18:25: {POSTS}.history.versions", "less than or equal to 10000"),
        ("age: 12h", "age: 12", f"18:33: {POSTS}.history.age", "should be text (quotes make it text)"),
        ("age: 12h", "age: 0s", f"18:33: {POSTS}.history.age", "is 0s; should be 1s to 3650d"),
        ("age: 12h", "age: 4000d", f"18:33: {POSTS}.history.age", "is 4000d; should be 1s to 3650d"),
        ("age: 12h", "age: forever", f"18:33: {POSTS}.history.age", "s, m, h, d or w, such as 30d"),
    ],
)
def test_each_fault_has_its_line_and_a_remedy(
    small: str, faults: Faults, sound: str, spoilt: str, where: str, remedy: str
) -> None:
    assert sound in small
    [fault] = faults(small.replace(sound, spoilt, 1))
    assert fault.startswith(f"{where}: ")
    assert fault.endswith(remedy)


@pytest.mark.parametrize(
    ("sound", "spoilt", "missing", "unknown"),
    [
        ("{debezium: ", "{debezum: ", f"20:5: {USERS}.source", f"20:14: {USERS}.source.debezum"),
        ("{topic: ", "{topik: ", f"20:14: {USERS}.source.debezium", f"20:25: {USERS}.source.debezium.topik"),
    ],
)
def test_a_misspelt_key_of_a_source_is_missed_and_suggested(
    small: str, faults: Faults, sound: str, spoilt: str, missing: str, unknown: str
) -> None:
    word = sound.strip("{: ")
    first, second = faults(small.replace(sound, spoilt, 1))
    assert first.startswith(f"{missing}: the key '{word}' is missing; add `{word}:`")
    assert second.startswith(f"{unknown}: ")
    assert second.endswith(f"did you mean '{word}'?")


def test_tables_are_called_as_topics_can_be(small: str, faults: Faults) -> None:
    found = faults(small.replace("posts", "my-posts"))
    assert "13:3: tables.my-posts: 'my-posts' is not spelt as it must be; should be lowercase" in found[2]
    assert {fault.split(": ")[1].rsplit(".", 1)[-1] for fault in found} == {"table", "my-posts"}


def table(small: str, sound: str = "", spoilt: str = "") -> str:
    assert sound in small
    return fingerprint("posts", loads(small.replace(sound, spoilt, 1), "p").tables["posts"])


def test_a_fingerprint_does_not_depend_on_words_or_order(small: str) -> None:
    assert table(small) == table(small, "    key: post_id", "    about: A post.\n    key: [post_id]")
    assert table(small) == table(small, "[author, text]", "[text, author]")
    assert table(small) == table(small, "age: 12h", "age: 720m")


@pytest.mark.parametrize(
    ("sound", "changed"),
    [
        ("[author, text]", "[author]"),
        ("    columns: [author, text]\n", ""),
        ("key: post_id", "key: [post_id, author]"),
        ("partitioned_by: author", "partitioned_by: post_id"),
        ("versions: 5", "versions: 6"),
        ("age: 12h", "age: 13h"),
    ],
)
def test_a_fingerprint_changes_with_what_the_table_holds(small: str, sound: str, changed: str) -> None:
    text = small.replace("on: post_id,", "on: [post_id, author],") if "[post_id" in changed else small
    assert table(text, sound, changed) != table(small)


def test_a_fingerprint_names_the_table_and_where_it_comes_from(small: str) -> None:
    tables = loads(small, "p").tables
    assert fingerprint("posts", tables["posts"]) != fingerprint("drafts", tables["posts"])
    other = loads(small.replace("cdc.app.users", "cdc.app.people"), "p").tables["users"]
    assert fingerprint("users", tables["users"]) != fingerprint("users", other)


def test_a_fingerprint_stays_the_same_from_release_to_release() -> None:
    # Snapshots on disk carry it: if this changes, every one of them is built anew.
    plain = Table(source="events", key=("id",), columns=("x",), partitioned_by=None, history=History())
    assert fingerprint("t", plain) == "672bb3d350722938bdbc5d3176615490f1347b48f0a96dfa2eb8aefc66578ca4"
