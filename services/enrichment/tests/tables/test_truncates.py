from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from penstock.enrichment.tables.change import FOREVER_US, Version
from penstock.enrichment.tables.truncates import Truncates

versions = st.builds(Version, st.integers(0, 9), st.binary(max_size=1))


@given(st.lists(st.tuples(versions, st.integers(0, 99)), max_size=12), st.integers(1, 4))
def test_they_are_a_function_of_their_set(given_: list[tuple[Version, int]], kept_max: int) -> None:
    truncates = Truncates(kept_max)
    for version, source in given_:
        before = (list(truncates.versions), truncates.evicted)
        assert truncates.add(version, source) == ((truncates.versions, truncates.evicted) != before)
    distinct = sorted({version for version, _ in given_})
    assert truncates.versions == distinct[-kept_max:]
    assert truncates.evicted == (len(distinct) > kept_max)
    restored = Truncates(kept_max, [(version, 0) for version in truncates.versions], truncates.evicted)
    assert restored.versions == truncates.versions
    for version in truncates.versions:
        assert truncates.source(version) == min(source for other, source in given_ if other == version)


def test_what_lies_before_and_after() -> None:
    truncates = Truncates(2, [(Version(20, b"a"), 1), (Version(10, b"a"), 0)])
    assert truncates.newest == Version(20, b"a")
    assert [truncates.at(t_us) for t_us in (9, 10, 20)] == [None, Version(10, b"a"), Version(20, b"a")]
    assert truncates.after(Version(10, b"")) == 10
    assert truncates.after(Version(10, b"a")) == 20
    assert truncates.after(Version(20, b"b")) == FOREVER_US
    assert truncates.between(Version(10, b""), Version(10, b"b"))
    assert truncates.between(Version(10, b"a"), Version(20, b"a")), "the newer came after the truncate of its version"
    assert not truncates.between(Version(10, b"a"), Version(20, b""))


def test_before_the_oldest_known_one_nothing_is_sure_once_one_was_evicted() -> None:
    truncates = Truncates(1)
    truncates.add(Version(20, b""), 0)
    assert not truncates.unsure_at(5)
    truncates.add(Version(10, b""), 1)
    assert [truncates.unsure_at(t_us) for t_us in (5, 19, 20)] == [True, True, False]
