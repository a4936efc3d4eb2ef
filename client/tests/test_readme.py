"""The examples of README.md run as they stand, only elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from penstock.client.testing import FakeIngest, FakeTables, FakeTimelines

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(
    number: int,
    fake: FakeIngest,
    fake_tables: FakeTables,
    fake_timelines: FakeTimelines,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fake_tables.put("profiles", "ada", {"name": "Ada"}, valid_from_us=1)
    fake_timelines.follow("bob", "ada")
    fake_timelines.post("ada", "p1", {"text": "Hello, Bob"}, time_us=1)
    elsewhere = {"7070": fake.address, "7071": fake_tables.address, "7072": fake_timelines.address}
    code = EXAMPLES[number]
    for port, address in elsewhere.items():
        code = code.replace(f"127.0.0.1:{port}", address)
    exec(compile(code, f"README.md, example {number + 1}", "exec"), {"__name__": "__main__"})
    shown = capsys.readouterr().out
    if "Publisher(" in code and "Fake" not in code:
        assert fake.log, "an example publishes something"
    if "Tables(" in code and "Fake" not in code:
        assert "RowStatus.MATCHED" in shown
    if "Timelines(" in code and "Fake" not in code:
        assert "Hello, Bob" in shown or "['p1']" in shown


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 11
