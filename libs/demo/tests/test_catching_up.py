from dataclasses import replace

from penstock.client import Place, TimelinePartition, TimelinesState
from penstock.demo.catching_up import Reached, behind, is_caught_up
from penstock.events.v1.event_pb2 import Position
from penstock.timeline.v1.delivery_pb2 import JoinProgress

POSTS, DELIVERIES = "tables.posts.v1", "timeline.deliveries.v1"
LAST = {(POSTS, 0): 41, (POSTS, 1): 7}
HELD = TimelinePartition(0, 10, 100, 20, 4096, 0, 0, (Place(DELIVERIES, 0, 12),), None)


def reached(posts: int = 41, delivered: int = 12) -> Reached:
    told = JoinProgress(
        reflects=[Position(topic=POSTS, partition=0, offset=posts), Position(topic=POSTS, partition=1, offset=9)],
        delivered=[Position(topic=DELIVERIES, partition=0, offset=delivered)],
    )
    found = Reached()
    found.take(told.SerializeToString())
    return found


def state(held: TimelinePartition = HELD) -> TimelinesState:
    return TimelinesState((held,), 1, 200)


def test_all_that_is_in_the_logs_is_applied() -> None:
    assert is_caught_up(LAST, reached(), state())


def test_the_join_is_behind_the_tables() -> None:
    assert not is_caught_up(LAST, reached(posts=40), state())
    assert not is_caught_up(LAST, Reached(), state())


def test_how_far_the_join_is_behind() -> None:
    assert [behind(LAST, reached()), behind(LAST, reached(posts=40)), behind(LAST, Reached())] == [0, 1, 50]


def test_the_timelines_are_behind_the_join() -> None:
    assert not is_caught_up(LAST, reached(delivered=13), state())
    assert not is_caught_up(LAST, reached(), state(replace(HELD, applied=())))


def test_somebody_waits_for_a_refill() -> None:
    assert not is_caught_up(LAST, reached(), state(replace(HELD, refilling=1)))


def test_where_there_is_nothing_everybody_has_it() -> None:
    assert is_caught_up({}, Reached(), state(replace(HELD, applied=())))
