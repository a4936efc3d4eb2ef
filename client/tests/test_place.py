from __future__ import annotations

import pytest
from penstock.client.place import Place, place_of


@pytest.mark.parametrize("text", ["a-b.c_d.v1:3:17", "a-b.c_d.v1[3]@17"])
def test_both_ways_to_write_a_place(text: str) -> None:
    assert place_of(text) == Place("a-b.c_d.v1", 3, 17)
    assert str(place_of(text)) == "a-b.c_d.v1:3:17"


@pytest.mark.parametrize(
    "text",
    ["", "t", "t:1", "t:1:", "t:-1:2", "t:1:2:3", "t[1]2", "a b:1:2", "t:2147483648:1", "t:1:9223372036854775808"],
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no place; write TOPIC:PARTITION:OFFSET"):
        place_of(text)
