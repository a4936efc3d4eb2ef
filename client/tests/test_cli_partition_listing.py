from __future__ import annotations

import io

import pytest
from penstock.client.cli.partition_listing import show
from penstock.client.place import Place
from penstock.client.timeline_state import TimelinePartition, TimelinesState
from rich.console import Console


def listed(width: int, content_hash: bytes | None) -> list[str]:
    applied = (Place("timeline.deliveries.v1", 0, 123_456),)
    partition = TimelinePartition(0, 12_500, 9_876_543, 54_321, 41_234_567, 0, 0, applied, content_hash)
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, color_system=None, soft_wrap=True)
    show({"t:7072": TimelinesState((partition,), 1, 800)}, console, Console(file=io.StringIO()), as_json=False)
    return out.getvalue().splitlines()


@pytest.mark.parametrize(
    ("width", "content_hash", "headings"),
    [
        (120, bytes(16), "partition users entries posts memory lag refilling content applied"),
        (120, None, "partition users entries posts memory lag refilling applied"),
        (70, None, "partition users entries posts memory lag refilling"),
        (60, None, "partition users entries memory lag refilling"),
        (60, bytes(16), "partition entries lag refilling content"),
    ],
)
def test_a_narrow_terminal_does_without_some_columns_and_cuts_none(
    width: int, content_hash: bytes | None, headings: str
) -> None:
    lines = listed(width, content_hash)
    assert lines[0].split() == headings.split()
    assert len(lines) == 3
    assert not any("…" in line for line in lines)
