from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark, which is a script and not a package."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    return import_module("clock")


@pytest.mark.parametrize(
    ("arguments", "writes"),
    [
        ([], True),
        (["--seed", "2"], False),
        (["--devices", "41"], False),
        (["--quick"], False),
        (["--seed", "2", "--write"], True),
        (["--quick", "--write"], True),
    ],
)
def test_only_the_default_run_rewrites_the_docs_unless_told_to(
    clock: ModuleType, arguments: list[str], writes: bool
) -> None:
    assert clock.writes_docs(clock.parse_arguments(arguments)) is writes


@pytest.mark.parametrize("devices", ["0", "-1", "many"])
def test_devices_that_are_none_are_explained(
    clock: ModuleType, devices: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        clock.parse_arguments([f"--devices={devices}"])
    assert f"'{devices}' is not a whole number from 1 up, such as 400" in capsys.readouterr().err
