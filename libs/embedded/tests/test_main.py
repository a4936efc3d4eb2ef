"""The command, as people run it."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from penstock.embedded.__main__ import main
from penstock.embedded.ports import is_listening
from penstock.embedded.supervisor import Supervisor


def test_a_broker_runs_until_it_is_interrupted(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "penstock.embedded", "kafka", "--state", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        port = int(running.stdout.readline().rpartition(":")[2])
        assert is_listening(port)
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 0
    assert not is_listening(port)
    assert "Kafka Server started" in (tmp_path / "logs" / "kafka.log").read_text()


def test_a_folder_in_use_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Supervisor(tmp_path):
        assert main(["kafka", "--state", str(tmp_path)]) == 1
    assert "another penstock runs in" in capsys.readouterr().err
