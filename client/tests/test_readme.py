"""The examples of README.md run as they stand, only elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from penstock.client.testing import FakeIngest, FakeTables

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number: int, fake: FakeIngest, fake_tables: FakeTables, capsys: pytest.CaptureFixture[str]) -> None:
    fake_tables.put("profiles", "ada", {"name": "Ada"}, valid_from_us=1)
    code = EXAMPLES[number].replace("127.0.0.1:7070", fake.address).replace("127.0.0.1:7071", fake_tables.address)
    exec(compile(code, f"README.md, example {number + 1}", "exec"), {"__name__": "__main__"})
    if "Fake" not in code:
        assert fake.log, "an example publishes something"
    if "Tables" in code and "Fake" not in code:
        assert "RowStatus.MATCHED" in capsys.readouterr().out


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 8
