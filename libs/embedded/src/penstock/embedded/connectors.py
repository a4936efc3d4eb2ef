"""A running Kafka Connect, and its connectors, over its REST interface.

In:  connector configurations.
Out: connectors that run, or a ConnectorError with the words of Connect: why a configuration is refused, or the trace
     of the task that failed.
"""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from penstock.embedded.errors import ConnectorError

ANSWER_TIMEOUT_S = 5.0
# Connect answers a new configuration only when it has tried the database: long, on a busy machine.
TAKEN_WITHIN_S = 60.0
RUNNING_WITHIN_S = 180.0
ASK_EVERY_S = 0.05
TRACE_LINES_MAX = 12
NOT_NOW = frozenset({HTTPStatus.CONFLICT, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.INTERNAL_SERVER_ERROR})


@dataclass(frozen=True)
class Connect:
    """`name` is for `supervisor.kill` and `restart`."""

    rest_url: str
    name: str

    def add(self, connector: str, configuration: Mapping[str, str]) -> None:
        """Starts a connector; returns when its task runs. When changed, its old task may run on for a moment."""
        deadline = time.monotonic() + RUNNING_WITHIN_S
        while not self._put(connector, configuration):
            self._again(deadline, f"Kafka Connect does not take the connector {connector!r}")
        while (missing := self._missing(connector)) is not None:
            self._again(deadline, missing)

    def remove(self, connector: str) -> None:
        """Ends a connector; returns when its task no longer runs. Its slot in the database stays."""
        deadline = time.monotonic() + RUNNING_WITHIN_S
        self._request("DELETE", f"/connectors/{connector}", timeout_s=TAKEN_WITHIN_S)
        while connector in self._states(TAKEN_WITHIN_S):
            self._again(deadline, f"the connector {connector!r} does not end")

    def missing(self, life: str) -> str | None:
        """What keeps this worker and its connectors from being ready; None when nothing does.

        `life` is the host name that the worker gives itself: states of its former lives do not count.
        """
        try:
            self._request("GET", "/health")
            states = self._states()
        except OSError as error:
            return f"Kafka Connect does not answer on {self.rest_url} yet: {error}"
        reasons = (missing_of(connector, state, life) for connector, state in states.items())
        return next((reason for reason in reasons if reason is not None), None)

    def fault(self, life: str) -> str | None:
        """The trace of a connector or task that failed in this life. No answer is not a fault: it may be starting."""
        try:
            return fault_of(self._states(), life)
        except OSError:
            return None

    def _missing(self, connector: str) -> str | None:
        states = self._states(TAKEN_WITHIN_S)
        if (fault := fault_of(states)) is not None:
            raise ConnectorError(fault)
        return missing_of(connector, states.get(connector, {}))

    def _put(self, connector: str, configuration: Mapping[str, str]) -> bool:
        try:
            self._request("PUT", f"/connectors/{connector}/config", configuration, timeout_s=TAKEN_WITHIN_S)
        except urllib.error.HTTPError as error:
            if error.code in NOT_NOW:
                return False
            raise ConnectorError(
                f"Kafka Connect refuses the connector {connector!r}: {error.read().decode(errors='replace')}"
            ) from None
        return True

    def _states(self, timeout_s: float = ANSWER_TIMEOUT_S) -> dict[str, dict[str, Any]]:
        answer = self._request("GET", "/connectors?expand=status", timeout_s=timeout_s)
        return {connector: known["status"] for connector, known in answer.items() if "status" in known}

    def _request(
        self, method: str, path: str, content: Mapping[str, str] | None = None, *, timeout_s: float = ANSWER_TIMEOUT_S
    ) -> Any:
        request = urllib.request.Request(
            f"{self.rest_url}{path}",
            method=method,
            data=None if content is None else json.dumps(content).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:
            return json.loads(answer.read() or b"null")

    def _again(self, deadline: float, missing: str) -> None:
        if time.monotonic() > deadline:
            raise ConnectorError(f"{missing} (after {RUNNING_WITHIN_S:g} s; {self.rest_url})")
        time.sleep(ASK_EVERY_S)  # REST tells no one of changes: there is nothing to wait on


def missing_of(connector: str, state: Mapping[str, Any], life: str | None = None) -> str | None:
    """What keeps a connector from running, by its status."""
    parts = list(_parts(connector, state, life))
    if len(parts) < 2:
        return f"{connector} has no task yet"
    waiting = (f"{name} is {part['state']}" for name, part in parts if part["state"] != "RUNNING")
    return next(waiting, None)


def fault_of(states: Mapping[str, Mapping[str, Any]], life: str | None = None) -> str | None:
    """The first failure among all connectors and tasks, with as much of its trace as one can read."""
    for connector, state in states.items():
        for name, part in _parts(connector, state, life):
            if part["state"] == "FAILED":
                trace = str(part.get("trace", "")).splitlines()
                causes = [line for line in trace[1:] if line.startswith("Caused by")]
                return "\n  ".join([f"{name} is FAILED:", *trace[:TRACE_LINES_MAX], *causes])
    return None


def _parts(connector: str, state: Mapping[str, Any], life: str | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The connector and its tasks, each with its state."""
    named = {f"connector {connector}": state.get("connector", {"state": "UNASSIGNED"})}
    named |= {f"task {task['id']} of {connector}": task for task in state.get("tasks", ())}
    for name, part in named.items():
        if life is None or str(part.get("worker_id", "")).startswith(f"{life}:"):
            yield name, part
