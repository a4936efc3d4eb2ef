"""docs/pipelines.md shows what the code says."""

import re
from pathlib import Path

import pytest
from penstock.document import InvalidDocumentError, Section
from penstock.pipeline import Enrichment, EventType, History, Table, Timeline, example, json_schema, loads
from ruamel.yaml import YAML

TEXT = (Path(__file__).parents[3] / "docs" / "pipelines.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(yaml|console)\n(.*?)```", TEXT, re.DOTALL)
YAMLS = [block for kind, block in BLOCKS if kind == "yaml"]


def test_the_faulty_file_has_the_faults_that_are_shown() -> None:
    faulty = YAMLS[-1]
    shown = next(block for kind, block in reversed(BLOCKS) if kind == "console")
    with pytest.raises(InvalidDocumentError) as caught:
        loads(faulty, "pipeline.yaml")
    assert str(caught.value).splitlines() == shown.splitlines()[1:]


@pytest.mark.parametrize("block", [block for block in YAMLS[:-1] if not block.startswith("timeline:")])
def test_what_is_shown_of_the_shop_is_in_the_shop(block: str) -> None:
    shown, shop = (YAML(typ="safe").load(text) for text in (block, example("shop")))
    [section] = shown
    entries = shown[section].items() if isinstance(shown[section], dict) else enumerate(shown[section])
    for name, entry in entries:
        # An entry may be shown in part.
        assert {key: shop[section][name][key] for key in entry} == entry


def test_the_timelines_that_are_shown_are_the_social_ones() -> None:
    [block] = [block for block in YAMLS if block.startswith("timeline:")]
    shown, social = (YAML(typ="safe").load(text) for text in (block, example("social")))
    assert shown["timeline"] == social["timeline"]


@pytest.mark.parametrize("section", [EventType, Table, Enrichment, Timeline])
def test_every_key_is_explained(section: type[Section]) -> None:
    for name, field in section.model_fields.items():
        assert f"| `{field.alias or name}` |" in TEXT


def test_the_bounds_of_history_are_said() -> None:
    assert History(versions=10_000, age="3650d").age_ms > 0
    assert "(1 to 10,000; default 100)" in TEXT
    assert f"(1s to 3650d; default {History().age})" in TEXT


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("capacity", "1 to {most:,} (default {default:,})"),
        ("slack", "1 to {most:,} (default {default:,})"),
        ("merge_at_read_above", "(default {default:,})"),
    ],
)
def test_the_bounds_of_timelines_are_said(name: str, said: str) -> None:
    [row] = [line for line in TEXT.splitlines() if line.startswith(f"| `{name}` |")]
    shown = json_schema()["$defs"]["Timeline"]["properties"][name]
    assert said.format(most=shown["maximum"], default=shown["default"]) in row
