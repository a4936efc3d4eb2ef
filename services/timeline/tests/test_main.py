from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest
from penstock.pipeline import example
from penstock.timelines.__main__ import main


def test_help_lists_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"], {}) == 0
    assert "PENSTOCK_TIMELINE_REPLICA " in capsys.readouterr().out
    assert main(["--serve"], {}) == 2


@pytest.mark.parametrize(
    ("setting", "content", "fault"),
    [
        ("PENSTOCK_TOPIC_MAP", "version: 2", "file.yaml:1:10: version"),
        ("PENSTOCK_TOPIC_MAP", "version: 1\nsteps: {}\ntopics: {}", "lacks events.raw.v1"),
        ("PENSTOCK_PIPELINE", "version: 2", "file.yaml:1:10: version"),
        ("PENSTOCK_PIPELINE", example("shop"), "file.yaml has no section `timeline`: it says which tables"),
        (
            "PENSTOCK_PIPELINE",
            example("social").replace("capacity: 800", "capacity: 1001"),
            "PENSTOCK_TIMELINE_LIMIT_MAX is 1000, less than a timeline has (timeline.capacity is 1001)",
        ),
        ("PENSTOCK_TOPIC_PREFIX", None, "cannot begin a topic's name"),
        ("PENSTOCK_TIMELINE_REPLICAS", None, "must be a whole number"),
    ],
)
def test_a_start_that_cannot_succeed_says_why(
    setting: str, content: str | None, fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(content or "")
    assert main([], {setting: str(path)}) == 2
    said = capsys.readouterr().err
    assert said.startswith("penstock timeline cannot start:\n")
    assert fault in said


def test_a_map_in_which_tables_cannot_be_joined_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shipped = resources.files("penstock.topics").joinpath("topics.yaml").read_text(encoding="utf-8")
    before, template, after = shipped.partition("tables.{event-table}.v1:")
    path = tmp_path / "topics.yaml"
    path.write_text(before + template + after.replace("partitions: 8", "partitions: 5", 1))
    assert main([], {"PENSTOCK_TOPIC_MAP": str(path)}) == 2
    assert "with these tables the map of topics would not be sound" in capsys.readouterr().err
