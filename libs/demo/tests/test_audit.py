from pathlib import Path

import pytest
from penstock.demo.audit import Audit, audit_of

REPORT = '{"posts": 40, "follows": 900, "users": 203, "entries": 5120, "served": 5120, "rounds": 1, "differences": %d}'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


def test_what_it_found_is_in_the_log_among_other_things(log: Path) -> None:
    log.write_text(f"WARN: a word from Spark\n{REPORT % 0}\nand another one\n")
    assert audit_of(0, log, 12.5) == Audit(12.5, 203, 40, 900, 5120, 0)


def test_differences(log: Path) -> None:
    log.write_text((REPORT % 2)[:-1] + ', "first": ["u1: lost u2/p3"]}\n')
    found = audit_of(1, log, 12.5)
    assert (found.differences, found.examples, found.failure) == (2, ("u1: lost u2/p3",), None)


@pytest.mark.parametrize(
    ("code", "text", "failure"),
    [
        (None, "", "it was not done within 300 s"),
        (
            2,
            "WARN: busy\npenstock audit could not be made: no Kafka\n",
            "exit code 2: penstock audit could not be made",
        ),
        (2, "", "exit code 2: without a word"),
        (0, "nothing\n", "it ended without a report"),
    ],
)
def test_no_audit_is_no_proof(code: int | None, text: str, failure: str, log: Path) -> None:
    log.write_text(text)
    found = audit_of(code, log, 12.5)
    assert found.failure is not None
    assert failure in found.failure
