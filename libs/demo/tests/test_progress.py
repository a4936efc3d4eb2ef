import re
from threading import Event

import pytest
from penstock.demo.progress import Starts

PATIENCE_S = 60


def test_they_start_beside_each_other_and_each_says_when_it_is_ready() -> None:
    written: list[str] = []
    first_is_ready = Event()

    def second() -> int:
        assert first_is_ready.wait(PATIENCE_S)
        return 2

    with Starts(written.append) as starts:
        starts.announce("Kafka", "PostgreSQL", "Debezium")
        late = starts.begin("Kafka", second, lambda number: f"answers on {number}")
        soon = starts.begin("PostgreSQL", lambda: 1, lambda number: f"answers on {number}")
        assert soon.result() == 1
        first_is_ready.set()
        assert late.result() == 2
    assert [re.sub(r"[0-9.]+ s", "0.1 s", line) for line in written] == [
        "==> starting Kafka, PostgreSQL and Debezium …\n",
        "==> PostgreSQL answers on 1 after 0.1 s\n",
        "==> Kafka answers on 2 after 0.1 s\n",
    ]


def test_the_last_one_is_named_while_it_is_waited_for() -> None:
    written: list[str] = []
    others_are_waited_for = Event()

    def spark() -> int:
        assert others_are_waited_for.wait(PATIENCE_S)
        return 2

    def write(text: str) -> None:
        written.append(text)
        if "waiting" in text:
            others_are_waited_for.set()

    with Starts(write) as starts:
        late = starts.begin("Spark", spark, str)
        soon = starts.begin("timeline", lambda: 1, str)
        starts.wait_for(Spark=late, timeline=soon)
        starts.wait_for(Spark=late)
    assert [line for line in written if "waiting" in line] == ["==> waiting for Spark …\n"]


def test_whoever_waits_for_several_is_told_of_the_first_failure() -> None:
    def fail() -> int:
        raise KeyError("Spark")

    failed = Event()
    with Starts(lambda _: None) as starts:
        endless = starts.begin("timeline", lambda: failed.wait(PATIENCE_S), str)
        with pytest.raises(KeyError):
            starts.wait_for(Spark=starts.begin("Spark", fail, str), timeline=endless)
        failed.set()


def test_a_failure_is_raised_to_whoever_asks() -> None:
    def fail() -> int:
        raise KeyError("Kafka")

    written: list[str] = []
    with pytest.raises(KeyError), Starts(written.append) as starts:
        starts.begin("Kafka", fail, str).result()
    assert written == []
