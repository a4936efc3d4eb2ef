from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from penstock.jobs.timelines.places import Places


@given(st.lists(st.binary(max_size=20), max_size=10))
def test_that_positions_come_back_as_they_were(positions: list[bytes]) -> None:
    places = Places()
    kept = [places.split(position) for position in positions]
    restored = Places(places.heads)
    assert [restored.joined(*one) for one in kept] == positions
    assert [restored.split(position) for position in positions] == kept


def test_that_events_of_one_boot_share_a_place() -> None:
    places = Places()
    one, two = (places.split(b"device\0boot\0" + number.to_bytes(8, "big")) for number in (1, 2))
    assert one[0] == two[0]
    assert len(places.heads) == 1
