from pathlib import Path

from penstock.embedded.errors import ChildDiedError, describe_exit


def test_exits_are_described_as_people_know_them() -> None:
    assert [describe_exit(code) for code in (0, 3, -9, -250)] == [
        "exit code 0",
        "exit code 3",
        "signal SIGKILL",
        "signal 250",
    ]


def test_a_death_is_told_with_the_last_words() -> None:
    error = ChildDiedError("kafka", 1, Path("logs/kafka.log"), ["one", "two"])
    assert str(error) == "kafka ended by itself with exit code 1. Last lines of logs/kafka.log:\n  one\n  two"
    assert error.headline == "kafka ended by itself with exit code 1"
    assert "(nothing was logged)" in str(ChildDiedError("kafka", 1, Path("log"), []))
