from __future__ import annotations

import subprocess
from typing import Any

import pytest
from penstock.client.cli import audit_command
from penstock.client.cli.app import app
from typer.testing import CliRunner


def test_that_spark_is_asked_and_its_answer_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[list[str], dict[str, str]]] = []

    def run(command: list[str], *, env: dict[str, str], check: bool) -> Any:
        asked.append((command, env))
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(audit_command, "check_reachable", lambda *_: None)
    arguments = ["audit", "--server", "127.0.0.1:5", "--bootstrap", "k:9092", "--prefix", "a-", "--json"]
    assert CliRunner().invoke(app, arguments).exit_code == 1
    ((command, environment),) = asked
    assert command[1:] == ["-m", "penstock.jobs", "audit", "--server", "127.0.0.1:5", "--rounds", "3", "--json"]
    assert (environment["PENSTOCK_BOOTSTRAP"], environment["PENSTOCK_TOPIC_PREFIX"]) == ("k:9092", "a-")


def test_that_a_machine_without_spark_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_command, "find_spec", lambda _: None)
    result = CliRunner().invoke(app, ["audit"])
    assert result.exit_code == 2
    assert "install the package penstock-jobs" in result.output


def test_that_a_service_that_is_not_there_is_said_before_spark_is_started() -> None:
    result = CliRunner().invoke(app, ["audit", "--server", "127.0.0.1:1"])
    assert result.exit_code == 2
    assert "cannot reach the timeline service at 127.0.0.1:1" in result.output
