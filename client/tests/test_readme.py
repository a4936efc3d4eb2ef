"""The examples of README.md run as they stand, only elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from penstock.client.testing import FakeIngest

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number: int, fake: FakeIngest, capsys: pytest.CaptureFixture[str]) -> None:
    code = EXAMPLES[number].replace("127.0.0.1:7070", fake.address)
    exec(compile(code, f"README.md, example {number + 1}", "exec"), {"__name__": "__main__"})
    if "FakeIngest" not in code:
        assert fake.log, "an example publishes something"


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 6
