"""One inbox against a sorted list: posts one at a time, or many at once; trimmed, withdrawn, with a floor."""

from __future__ import annotations

import numpy as np
from delivery_maker import Maker, post, spread, withdrawn
from hypothesis import given
from hypothesis import strategies as st
from penstock.delivery.numbers import user_number
from penstock.timeline.v1.delivery_pb2 import AuthorChanges
from penstock.timelines.store import Shape
from penstock.timelines.store.tables import find_user
from penstock.timelines.store.values import signed
from timeline_world import inbox

CAPACITY, SLACK = 12, 5
ids = st.text("abcdefgh", min_size=1, max_size=2)
batches = st.lists(st.tuples(st.integers(0, 9), ids), max_size=30, unique=True)
Key = tuple[int, str]


class Model:
    """The invariant, said plainly."""

    def __init__(self) -> None:
        self.entries: set[Key] = set()
        self.floor: Key | None = None

    def admit(self, some: list[Key]) -> None:
        self.entries |= {key for key in some if self.floor is None or key >= self.floor}

    def take(self, told: list[Key]) -> None:
        """What an inbox shows: that it was trimmed must be seen in a floor, at its oldest entry."""
        assert told == sorted(told)
        assert len(told) <= CAPACITY + SLACK
        if len(told) < len(self.entries):
            assert len(told) >= CAPACITY
            self.floor = told[0]
        assert set(told) == {key for key in self.entries if self.floor is None or key >= self.floor}
        self.entries = set(told)


def told(maker: Maker) -> list[Key]:
    slots = inbox(maker.partition, user_number("ann"))
    return [(place.time_us, place.post_id) for place in map(maker.partition.place, slots.tolist())]


@given(st.lists(st.tuples(batches, st.booleans()), max_size=12))
def test_that_an_inbox_holds_all_that_is_not_older_than_its_floor(steps: list[tuple[list[Key], bool]]) -> None:
    maker, model = Maker(Shape(CAPACITY, SLACK, 1, 1)), Model()
    maker.tell(AuthorChanges(author="a", followed=np.array([user_number("ann")], "<u8").tobytes()))
    for keys, adds in steps:
        posts = [post("a", post_id, time_us) for time_us, post_id in keys]
        if not posts:
            continue
        if adds:
            maker.tell(spread(posts, ["ann"]))
            model.admit(keys)
            model.take(told(maker))
        elif len(model.entries - set(keys)) >= CAPACITY or model.floor is None:  # else it would be refilled
            maker.tell(withdrawn(posts, ["ann"]))
            model.entries -= set(keys)
            model.take(told(maker))
        columns = maker.partition._columns
        user = columns.users[find_user(columns.s, signed(user_number("ann")))]
        assert user["newest_us"] == max([*model.entries, *filter(None, [model.floor])], default=(-(1 << 63), ""))[0]
    assert maker.partition.entries == len(model.entries)
    floors = {model.floor} - model.entries - {None}
    assert maker.partition.posts == len(model.entries) + len(floors)
