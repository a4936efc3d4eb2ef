from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from penstock.topics.graph import arrows, turned, ways_round


@dataclass(frozen=True)
class Pipe:
    producers: tuple[str, ...] = ()
    consumers: tuple[str, ...] = ()


def test_arrows_lead_from_producers_through_topics_to_consumers() -> None:
    topics = {"t.v1": Pipe(("a", "b"), ("c",)), "u.v1": Pipe(("c",))}
    assert arrows(topics) == [("a", "t.v1"), ("b", "t.v1"), ("t.v1", "c"), ("c", "u.v1")]


def test_a_flow_one_way_has_no_way_round() -> None:
    assert ways_round([("a", "b"), ("b", "c"), ("a", "c")]) == []


def test_every_way_round_is_found_once() -> None:
    graph = [("b", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("d", "d"), ("c", "e")]
    assert sorted(ways_round(graph)) == [("a", "b"), ("a", "b", "c"), ("d",)]


def test_equal_cycles_are_turned_into_equal_tuples() -> None:
    assert turned(("c", "a", "b")) == turned(["a", "b", "c"]) == ("a", "b", "c")


NODES = st.sampled_from("abcde")


@given(st.sets(st.tuples(NODES, NODES), max_size=12))
def test_ways_round_are_exactly_the_closed_simple_walks(graph: set[tuple[str, str]]) -> None:
    found = ways_round(graph)
    assert len(found) == len(set(found))
    for cycle in found:
        assert len(set(cycle)) == len(cycle)
        assert set(zip(cycle, (*cycle[1:], cycle[0]), strict=True)) <= graph
    assert bool(found) == _feeds_itself(graph)


def _feeds_itself(graph: set[tuple[str, str]]) -> bool:
    """Take away nodes that nothing flows into until none is left, or a cycle is."""
    left = set(graph)
    while left:
        ends = {target for _, target in left}
        kept = {(source, target) for source, target in left if source in ends}
        if kept == left:
            return True
        left = kept
    return False
