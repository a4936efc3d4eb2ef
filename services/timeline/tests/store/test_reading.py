"""Pages against slices of the timeline, from any place, in both directions, with outboxes merged."""

from __future__ import annotations

from delivery_maker import Maker, followed, post, spread
from hypothesis import given
from hypothesis import strategies as st
from penstock.delivery.numbers import user_number
from penstock.timelines.store import Place, Shape

CAPACITY = 9
AUTHORS = ["a", "b", "star", "stars"]
places = st.builds(
    Place, st.integers(0, 4), st.sampled_from(["", "1", "2", "22", "3"]), st.sampled_from([*AUTHORS, ""])
)


def told(posts: set[Place]) -> Maker:
    """Everybody's posts, half of them by way of outboxes."""
    maker = Maker(Shape(CAPACITY, 3, 1, 1))
    maker.tell(*(followed(author, ["ann"]) for author in AUTHORS))
    for author in AUTHORS:
        some = [post(author, place.post_id, place.time_us) for place in posts if place.author == author]
        if some and author.startswith("star"):
            maker.tell(spread(some, outbox=True))
        elif some:
            maker.tell(spread(some, ["ann"]))
    return maker


def key(place: Place) -> tuple[int, bytes, bytes]:
    return place.time_us, place.post_id.encode(), place.author.encode()


@given(
    st.sets(places.filter(lambda place: place.author != ""), max_size=30),
    places | st.none(),
    st.booleans(),
    st.integers(0, 11),
)
def test_a_page_is_the_part_next_to_its_place(posts: set[Place], place: Place | None, newer: bool, limit: int) -> None:
    maker = told(posts)
    visible = sorted(posts, key=key, reverse=True)[:CAPACITY]
    if newer:
        beyond = [one for one in visible if place is None or key(one) > key(place)]
        expected = beyond[max(len(beyond) - limit, 0) :]
    else:
        beyond = [one for one in visible if place is None or key(one) < key(place)]
        expected = beyond[:limit]
    page = maker.partition.page(user_number("ann"), place, newer=newer, limit=limit)
    assert [maker.partition.place(slot) for slot in page.slots] == expected
    assert page.more == (len(beyond) > len(expected))


@given(st.sets(places.filter(lambda place: place.author != ""), max_size=30), st.integers(1, 4))
def test_pages_make_up_the_timeline(posts: set[Place], limit: int) -> None:
    maker, ann = told(posts), user_number("ann")
    seen: list[Place] = []
    place, more = None, True
    while more:
        page = maker.partition.page(ann, place, newer=False, limit=limit)
        seen += [maker.partition.place(slot) for slot in page.slots]
        place, more = seen[-1] if seen else None, page.more
    assert seen == maker.places("ann") == sorted(posts, key=key, reverse=True)[:CAPACITY]
