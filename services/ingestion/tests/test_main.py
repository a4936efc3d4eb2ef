from __future__ import annotations

from pathlib import Path

import pytest
from penstock.ingestion.__main__ import main


@pytest.mark.parametrize(
    ("setting", "content", "fault"),
    [
        ("PENSTOCK_TOPIC_MAP", "version: 2", "topics.yaml:1:10: version"),
        ("PENSTOCK_TOPIC_MAP", "version: 1\nsteps: {}\ntopics: {}", "lacks events.raw.v1"),
        ("PENSTOCK_PIPELINE", "version: 2", "topics.yaml:1:10: version"),
        ("PENSTOCK_TOPIC_PREFIX", None, "cannot begin a topic's name"),
    ],
)
def test_a_start_that_cannot_succeed_says_why(
    setting: str, content: str | None, fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "topics.yaml"
    path.write_text(content or "")
    assert main([], {setting: str(path)}) == 2
    said = capsys.readouterr().err
    assert said.startswith("penstock ingestion cannot start:\n")
    assert fault in said
