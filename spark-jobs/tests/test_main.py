from __future__ import annotations

import pytest
from penstock.jobs.__main__ import main


def test_that_help_lists_jobs_and_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert "timelines" in text
    assert "PENSTOCK_JOBS_CHECKPOINTS" in text


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "say which jobs to run"),
        (["run"], "say which jobs to run"),
        (["run", "timeline"], "unknown job 'timeline'"),
    ],
)
def test_that_what_makes_no_sense_is_said(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert problem in capsys.readouterr().err


def test_that_a_checkpoint_must_be_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_JOBS_CHECKPOINTS", raising=False)
    assert main(["run", "timelines"]) == 2
    assert "PENSTOCK_JOBS_CHECKPOINTS must name" in capsys.readouterr().err
