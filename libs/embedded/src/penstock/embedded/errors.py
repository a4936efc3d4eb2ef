"""Everything that can go wrong while the stack is brought up, as types.

EmbeddedError
├── JavaMissingError       no Java that can run the stack
├── JarsError              a jar is missing, replaced, or not in the lock file
├── StateInUseError        another supervisor runs in the same state folder
├── StopRequestedError     somebody asked to stop while a child was starting
├── ConnectorError         Kafka Connect refused a connector, or it failed
└── ChildError             about one child; carries its name and last log lines
    ├── ChildDiedError     it ended by itself
    ├── ChildFailedError   it runs, and says that it cannot do its work any more
    └── ChildNotReadyError it did not answer before its deadline
"""

import signal
from collections.abc import Sequence
from pathlib import Path


class EmbeddedError(Exception):
    """The text is meant for the person at the terminal: what, where, what to do."""


class JavaMissingError(EmbeddedError):
    pass


class JarsError(EmbeddedError):
    pass


class StateInUseError(EmbeddedError):
    pass


class StopRequestedError(EmbeddedError):
    pass


class ConnectorError(EmbeddedError):
    pass


class ChildError(EmbeddedError):
    def __init__(self, name: str, what: str, log: Path, last_lines: Sequence[str]) -> None:
        self.name = name
        self.headline = f"{name} {what}"  # one sentence, without its full stop
        self.log = log
        self.last_lines = tuple(last_lines)
        shown = "".join(f"\n  {line}" for line in self.last_lines) or " (nothing was logged)"
        super().__init__(f"{self.headline}. Last lines of {log}:{shown}")


class ChildDiedError(ChildError):
    def __init__(self, name: str, exit_code: int, log: Path, last_lines: Sequence[str]) -> None:
        self.exit_code = exit_code
        super().__init__(name, f"ended by itself with {describe_exit(exit_code)}", log, last_lines)


class ChildFailedError(ChildError):
    def __init__(self, name: str, fault: str, log: Path, last_lines: Sequence[str]) -> None:
        self.fault = fault
        super().__init__(name, f"failed: {fault}", log, last_lines)


class ChildNotReadyError(ChildError):
    def __init__(self, name: str, missing: str, timeout_s: float, log: Path, last_lines: Sequence[str]) -> None:
        super().__init__(name, f"was not ready within {timeout_s:g} s: {missing}", log, last_lines)


def describe_exit(exit_code: int) -> str:
    """`exit code 1`, or `signal SIGKILL` for the negative codes of subprocess."""
    if exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        return f"signal {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"signal {-exit_code}"
