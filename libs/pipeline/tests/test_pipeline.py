from pathlib import Path

import pytest
from penstock.document import InvalidDocumentError
from penstock.pipeline import example, json_schema, load, loads
from penstock.pipeline.event_types import EVENT_TYPES_MAX


def types(count: int) -> str:
    return "version: 1\nevent_types:\n" + "".join(f"  t{number}: {{about: x}}\n" for number in range(count))


def test_the_social_pipeline_is_the_default() -> None:
    assert {name: event_type.key for name, event_type in load().event_types.items()} == {
        "post.created": "author",
        "post.deleted": "author",
        "follow.created": "author",
        "follow.deleted": "author",
        "search.made": "session",
        "link.clicked": "session",
        "page.viewed": "user",
        "profile.changed": "user",
    }


@pytest.mark.parametrize("made", ["post.created", "follow.created"])
def test_what_makes_a_row_and_what_deletes_it_name_the_same_row(made: str) -> None:
    types_by_name = load().event_types
    assert types_by_name[made].required == types_by_name[made.replace("created", "deleted")].required


def test_the_tables_of_the_social_pipeline() -> None:
    tables = load().tables
    assert {name: (table.debezium_topic, table.key, table.partitioned_by) for name, table in tables.items()} == {
        "profiles": ("cdc.app.profiles", ("user",), None),
        "posts": (None, ("author", "post_id"), "author"),
        "follows": (None, ("follower", "author"), "author"),
    }


def test_joins_are_found_by_the_type_of_event_in_the_order_of_the_file() -> None:
    shop = loads(example("shop"), "shop.yaml")
    assert [
        (join.table, join.on, join.name, join.wait_for_table_ms) for join in shop.enrichments_of("order.placed")
    ] == [
        ("tax_rates", ("country", "category"), "tax", 2_000),
        ("products", ("product",), "product", 0),
    ]
    assert load().enrichments_of("profile.changed") == ()


def test_columns_that_are_left_out_are_all_there_may_be() -> None:
    pipeline = loads(
        """\
version: 1
event_types:
  a: {about: A., required: [id], optional: [x], upserts: {table: t}}
  b: {about: B., required: [id, y], optional: [x], upserts: {table: t}}
  c: {about: C., required: [id, z], deletes: {table: t}}
tables:
  t: {source: events, key: id}
  d: {source: {debezium: {topic: cdc.d}}, key: id}
  e: {source: {debezium: {topic: cdc.e}}, key: id, columns: []}
""",
        "p",
    )
    assert [pipeline.columns_of(table) for table in ("t", "d", "e")] == [("id", "x", "y"), None, ()]


def test_all_faults_of_all_sections_come_at_once() -> None:
    text = """\
verison: 1
event_types:
  post.created:
    about: A post.
    key: author
  Post.Deleted:
    about: A post.
  post.created:
    about: Again.
tables:
  posts: {source: event, key: post_id}
  likes: {source: events, key: post_id}
enrichments:
  - {event_type: post.created, table: post, on: author, as: Author}
windows: {}
"""
    with pytest.raises(InvalidDocumentError) as caught:
        loads(text, "pipeline.yaml")
    found = [str(fault).split(": ", 2)[:2] for fault in caught.value.faults]
    assert found == [
        ["1:1", "the key 'version' is missing; add `version:` (The version of this format, 1)"],
        ["1:1", "verison"],
        ["5:10", "event_types.post.created.key"],
        ["6:3", "event_types.Post.Deleted"],
        ["8:3", "event_types.post.created"],
        ["11:19", "tables.posts.source"],
        ["12:19", "tables.likes.source"],
        ["14:39", "enrichments[0].table"],
        ["14:49", "enrichments[0].on"],
        ["14:61", "enrichments[0].as"],
        ["15:1", "windows"],
    ]
    assert str(caught.value).startswith("pipeline.yaml has 11 faults:\n  pipeline.yaml:1:1: ")


def test_an_open_quote_has_its_line() -> None:
    with pytest.raises(InvalidDocumentError, match="p:3:14: a quote is opened here and never closed"):
        loads('version: 1\nevent_types:\n  a: {about: "x}\n', "p")


def test_types_are_limited_and_there_is_at_least_one() -> None:
    assert len(loads(types(EVENT_TYPES_MAX), "p").event_types) == EVENT_TYPES_MAX
    with pytest.raises(InvalidDocumentError, match="event_types: has more than 256 entries"):
        loads(types(EVENT_TYPES_MAX + 1), "p")
    with pytest.raises(InvalidDocumentError, match="event_types: has 0 entries; at least 1"):
        loads("version: 1\nevent_types: {}\n", "p")


def test_a_file_is_read_and_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(types(2))
    assert list(load(path).event_types) == ["t0", "t1"]
    path.write_text(types(0))
    with pytest.raises(InvalidDocumentError, match=r"mine\.yaml:2:1: event_types: is empty"):
        load(path)


def test_the_schema_knows_what_the_model_knows() -> None:
    schema = json_schema()
    event_type = schema["$defs"]["EventType"]
    assert schema["required"] == ["version", "event_types"]
    assert list(schema["properties"]) == ["version", "event_types", "tables", "enrichments", "timeline"]
    assert list(event_type["properties"]) == ["about", "required", "optional", "key", "upserts", "deletes"]
    for section in (schema, *schema["$defs"].values()):
        assert section["additionalProperties"] is False
        assert all("description" in entry for entry in section["properties"].values())


def test_the_schema_takes_one_name_or_a_list_and_calls_names_as_the_file_does() -> None:
    definitions = json_schema()["$defs"]
    assert [kind["type"] for kind in definitions["Table"]["properties"]["key"]["anyOf"]] == ["string", "array"]
    assert definitions["Table"]["required"] == ["source", "key"]
    assert definitions["Enrichment"]["required"] == ["event_type", "table", "on", "as"]
    assert {"const": "events", "type": "string"} in definitions["Table"]["properties"]["source"]["oneOf"]


def test_the_schemas_patterns_are_known_to_helm() -> None:
    # Helm checks values with Go's regular expressions, which have no look-ahead.
    assert "(?=" not in str(json_schema())
