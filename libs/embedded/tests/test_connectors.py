"""What states of connectors mean; the real ones are in test_connect.py."""

from typing import Any

import pytest
from penstock.embedded.connectors import Connect, fault_of, missing_of
from penstock.embedded.ports import HOST, free_ports


def status(connector: str, *tasks: str, worker: str = "life-7:80") -> dict[str, Any]:
    trace = "org.apache.Error: task stopped\n\tat Deep.inside\nCaused by: no key"
    return {
        "connector": {"state": connector, "worker_id": worker},
        "tasks": [
            {"id": number, "state": task, "worker_id": worker, **({"trace": trace} if task == "FAILED" else {})}
            for number, task in enumerate(tasks)
        ],
    }


@pytest.mark.parametrize(
    ("state", "missing"),
    [
        (status("RUNNING", "RUNNING"), None),
        (status("RUNNING"), "cdc has no task yet"),
        (status("RUNNING", "UNASSIGNED"), "task 0 of cdc is UNASSIGNED"),
        (status("PAUSED", "RUNNING"), "connector cdc is PAUSED"),
        (status("RUNNING", "RUNNING", worker="life-6:80"), "cdc has no task yet"),
        ({}, "cdc has no task yet"),
    ],
)
def test_a_connector_runs_when_it_and_its_task_do_in_this_life(state: dict[str, Any], missing: str | None) -> None:
    assert missing_of("cdc", state, "life-7") == missing


def test_a_failure_is_told_with_its_cause() -> None:
    fault = fault_of({"well": status("RUNNING", "RUNNING"), "cdc": status("RUNNING", "FAILED")}, "life-7")
    assert fault is not None
    assert "task 0 of cdc is FAILED" in fault
    assert "Caused by: no key" in fault


def test_failures_of_an_earlier_life_do_not_count() -> None:
    assert fault_of({"cdc": status("FAILED", "FAILED", worker="life-6:80")}, "life-7") is None


def test_a_worker_that_does_not_answer_is_not_ready_but_not_at_fault() -> None:
    connect = Connect(f"http://{HOST}:{free_ports(1)[0]}", "connect")
    assert "does not answer" in (connect.missing("life-7") or "ready")
    assert connect.fault("life-7") is None
