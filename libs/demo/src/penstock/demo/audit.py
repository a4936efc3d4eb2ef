"""Has all timelines computed again, from the tables' logs, by a batch job in Spark, and compared with what is served.

In:  the log of `penstock-jobs audit --json`, and its exit code. Out: what it found, or why there was no audit.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path

from penstock.demo.stack import Stack
from penstock.embedded.child import last_lines
from penstock.embedded.jobs import audit_child
from penstock.embedded.supervisor import Supervisor

AUDITED_WITHIN_S = 300.0
_SAME, _DIFFERENT = 0, 1


@dataclass(frozen=True)
class Audit:
    """`failure`: why nothing was compared; None where everything was."""

    took_s: float = 0.0
    users: int = 0
    posts: int = 0
    follows: int = 0
    entries: int = 0
    differences: int = 0
    examples: tuple[str, ...] = ()
    failure: str | None = None


def run(supervisor: Supervisor, stack: Stack) -> Audit:
    """Blocks. A request to stop ends it."""
    began = time.monotonic()
    code = supervisor.run(audit_child(stack.bootstrap, stack.timeline.address, stack.environment), AUDITED_WITHIN_S)
    return audit_of(code, supervisor.log("audit"), time.monotonic() - began)


def audit_of(code: int | None, log: Path, took_s: float) -> Audit:
    """`code`: None where it was killed before it had ended."""
    if code is None:
        return Audit(took_s, failure=f"it was not done within {AUDITED_WITHIN_S:.0f} s")
    lines = last_lines(log)
    if code not in (_SAME, _DIFFERENT):
        return Audit(took_s, failure=f"it ended with exit code {code}: {lines[-1] if lines else 'without a word'}")
    report = next((line for line in reversed(lines) if line.startswith("{")), None)
    if report is None:
        return Audit(took_s, failure="it ended without a report")
    found = json.loads(report)
    return Audit(
        took_s,
        found["users"],
        found["posts"],
        found["follows"],
        found["entries"],
        found["differences"],
        tuple(found.get("first", ())),
    )
