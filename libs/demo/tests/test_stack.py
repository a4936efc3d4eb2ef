from pathlib import Path

import pytest
from penstock.demo.stack import state_folder
from penstock.embedded.errors import ChildDiedError


def fill(folder: Path) -> None:
    (folder / "logs").mkdir()
    (folder / "logs" / "kafka.log").write_text("last words")
    (folder / "kafka").mkdir()
    (folder / "lock").touch()


def die(folder: Path) -> None:
    fill(folder)
    raise ChildDiedError("kafka", 1, folder / "logs" / "kafka.log", ["last words"])


def test_the_state_is_gone_afterwards() -> None:
    with state_folder() as folder:
        fill(folder)
    assert not folder.exists()


def test_it_is_gone_after_a_bug_too() -> None:
    with pytest.raises(KeyError), state_folder() as folder:
        raise KeyError
    assert not folder.exists()


def test_the_logs_of_a_child_that_failed_stay() -> None:
    with pytest.raises(ChildDiedError), state_folder() as folder:
        die(folder)
    assert [path.name for path in folder.iterdir()] == ["logs"]
    (folder / "logs" / "kafka.log").unlink()
    (folder / "logs").rmdir()
    folder.rmdir()
