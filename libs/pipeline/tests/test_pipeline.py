from pathlib import Path

import pytest
from penstock.document import InvalidDocumentError
from penstock.pipeline import json_schema, load, loads
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
tables: {}
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
        ["10:1", "tables"],
    ]
    assert str(caught.value).startswith("pipeline.yaml has 6 faults:\n  pipeline.yaml:1:1: ")


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
    assert schema["additionalProperties"] is event_type["additionalProperties"] is False
    assert list(event_type["properties"]) == ["about", "required", "optional", "key"]
    assert all("description" in entry for entry in event_type["properties"].values())


def test_the_schemas_patterns_are_known_to_helm() -> None:
    # Helm checks values with Go's regular expressions, which have no look-ahead.
    assert "(?=" not in str(json_schema())
