import os
from pathlib import Path

import pytest
from penstock.demo.failure import LOG_LINES, last_words, told_at_once
from penstock.embedded.child import Child
from penstock.embedded.errors import ChildDiedError
from penstock.embedded.supervisor import Supervisor

HEADLINE = "penstock demo: kafka ended by itself with signal SIGKILL"


def death(*logged: str) -> ChildDiedError:
    return ChildDiedError("kafka", -9, Path("logs/kafka.log"), logged)


def test_it_is_said_while_the_others_still_run(tmp_path: Path) -> None:
    said: list[str] = []
    with Supervisor(tmp_path) as supervisor:
        supervisor.start(Child("slow", ("sleep", "60")))

        def write(text: str) -> None:
            os.kill(supervisor.pid("slow"), 0)  # raises if it has ended
            said.append(text)

        with pytest.raises(ChildDiedError), told_at_once(supervisor.request_stop, write):
            supervisor.start(Child("kafka", ("sh", "-c", "exit 3"), ready=lambda: "an answer"))
    assert "".join(said).startswith("penstock demo: kafka ended by itself with exit code 3\n==> stopping the rest")


def test_one_more_request_to_stop_is_enough_to_stop_without_waiting() -> None:
    requests: list[str] = []
    with pytest.raises(ChildDiedError), told_at_once(lambda: requests.append("stop"), requests.append):
        raise death()
    assert requests[1:] == ["stop"]


def test_other_failures_are_not_its_affair() -> None:
    said: list[str] = []
    with pytest.raises(KeyError), told_at_once(lambda: None, said.append):
        raise KeyError
    assert said == []


def test_the_headline_is_the_last_line_with_the_path_of_the_log() -> None:
    assert last_words(death("one"), 80)[-1] == f"{HEADLINE}; its log: logs/kafka.log"


def test_only_the_end_of_the_log_is_shown_and_no_line_wraps() -> None:
    shown = last_words(death(*(f"{number:02} " + "x" * 200 for number in range(20))), 80)[1:-1]
    assert [line[:4] for line in shown] == [f"  {number}" for number in range(20 - LOG_LINES, 20)]
    assert {len(line) for line in shown} == {80}
    assert all(line.endswith("…") for line in shown)


def test_without_a_terminal_nothing_is_cut() -> None:
    assert last_words(death("x" * 200), None)[1] == "  " + "x" * 200


def test_a_log_cannot_move_the_cursor() -> None:
    assert last_words(death("\tat kafka\x1b[2J\r"), 80)[1] == "      at kafka [2J "


def test_an_empty_log_is_called_so() -> None:
    assert last_words(death(), 80)[0] == "kafka logged nothing"
