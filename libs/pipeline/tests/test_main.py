import json
from pathlib import Path

import pytest
from penstock.pipeline import EXAMPLES, example
from penstock.pipeline.__main__ import main


def test_a_sound_file_is_said_to_be_sound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("version: 1\nevent_types: {ping: {about: A ping.}}\n")
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out == f"{path} is sound: 1 event type, 0 tables, 0 enrichments\n"


def test_that_there_are_timelines_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(example("social"))
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out == f"{path} is sound: 8 event types, 3 tables, 2 enrichments, timelines\n"


def test_every_fault_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("version: 2\nevent_types: {Ping: {about: A ping.}}\n")
    assert main(["check", str(path)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"{path} has 2 faults:"
    assert [line.split(": ")[0] for line in lines[1:]] == [f"  {path}:1:10", f"  {path}:2:15"]


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.yaml"
    assert main(["check", str(path)]) == 1
    assert capsys.readouterr().err == f"cannot read {path}: No such file or directory\n"


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_printed_as_it_is_shipped_and_sound(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["example", name]) == 0
    path = tmp_path / "mine.yaml"
    path.write_text(capsys.readouterr().out)
    assert main(["check", str(path)]) == 0
    assert path.read_text() == example(name)


def test_the_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "pipeline.yaml"


def test_without_a_command_the_usage_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2
    assert "check" in capsys.readouterr().err
