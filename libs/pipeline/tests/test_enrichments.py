from collections.abc import Callable

import pytest
from penstock.pipeline import loads

Faults = Callable[[str], list[str]]
FIRST = "enrichments[0]"


def test_a_sound_enrichment_is_read_as_written(small: str) -> None:
    first, second = loads(small, "p").enrichments
    assert (first.event_type, first.table, first.on, first.name) == (
        "post.made",
        "users",
        ("author", "post_id"),
        "writer",
    )
    assert (first.columns, first.wait_for_table_ms) == (("country",), 500)
    assert (second.on, second.columns, second.wait_for_table_ms) == (("post_id",), None, 0)


@pytest.mark.parametrize(
    ("sound", "spoilt", "where", "remedy"),
    [
        ("    as: writer\n", "", f"25:5: {FIRST}", "add `as:` (What the join is called on the event)"),
        ("as: writer", "as: the-writer", f"28:9: {FIRST}.as", "such as post_id"),
        (
            "as: writer",
            "name: writer",
            f"28:5: {FIRST}.name",
            "known here: as, columns, event_type, on, table, wait_for_table",
        ),
        ("on: [author, post_id]", "on: [author, 5]", f"27:18: {FIRST}.on[1]", "should be text (quotes make it text)"),
        ("500ms", "61s", f"30:21: {FIRST}.wait_for_table", "is 61s; should be 0s to 60s"),
        ("500ms", "soon", f"30:21: {FIRST}.wait_for_table", "such as 500ms"),
        ("500ms", "500", f"30:21: {FIRST}.wait_for_table", "should be text (quotes make it text)"),
    ],
)
def test_each_fault_has_its_line_and_a_remedy(
    small: str, faults: Faults, sound: str, spoilt: str, where: str, remedy: str
) -> None:
    assert sound in small
    found = faults(small.replace(sound, spoilt, 1))
    assert [fault for fault in found if fault.startswith(f"{where}: ") and fault.endswith(remedy)], found


@pytest.mark.parametrize(("wait", "ms"), [("0ms", 0), ("0s", 0), ("1m", 60_000)])
def test_the_wait_is_bounded_on_both_sides(small: str, wait: str, ms: int) -> None:
    assert loads(small.replace("500ms", wait), "p").enrichments[0].wait_for_table_ms == ms
