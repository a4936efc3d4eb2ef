from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from penstock.enrichment.tables.bodies import pack_body
from penstock.enrichment.tables.versions import Row, evict, first_kept, place, unpack

EMPTY = Row(False, (), (), b"")


def body(position: bytes, unknown: str = "") -> bytes:
    """For these tests, the values are the names of the unknown columns."""
    return pack_body(0, 0, position, unknown.encode())


def unknown_of(packed: bytes) -> tuple[str, ...]:
    return tuple(packed[13:].decode())


def row_of(*versions: tuple[int, str]) -> Row:
    row = EMPTY
    for t_us, unknown in versions:
        row = row.insert(len(row.times), t_us, body(b"p", unknown))
    return row


def unknowns(row: Row) -> list[tuple[int, str]]:
    return [(t_us, "".join(unknown_of(row.body(index)))) for index, t_us in enumerate(row.times)]


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=9))), st.booleans())
def test_a_row_is_read_as_it_was_packed(versions: list[tuple[int, bytes]], evicted: bool) -> None:
    row = EMPTY._replace(evicted=evicted)
    for t_us, content in versions:
        row = row.insert(0, t_us, content)
    assert unpack(row.pack()) == row
    assert [row.body(index) for index in range(len(versions))] == [content for _, content in reversed(versions)]


@given(st.lists(st.tuples(st.integers(0, 3), st.binary(max_size=2)), unique=True, max_size=12))
def test_versions_are_placed_in_order_and_found_again(versions: list[tuple[int, bytes]]) -> None:
    row = EMPTY
    for t_us, position in versions:
        index, known = place(row, t_us, position)
        assert not known
        row = row.insert(index, t_us, body(position))
    for index, (t_us, position) in enumerate(sorted(versions)):
        assert place(row, t_us, position) == (index, True)
        assert row.without(index).insert(index, t_us, body(position)) == row


def test_too_many_versions_and_those_whose_successor_is_old_are_evicted() -> None:
    times = (10, 20, 30, 40)
    assert [first_kept(times, 9, horizon_us) for horizon_us in (9, 10, 19, 20, 29, 30, 99)] == [0, 0, 0, 1, 1, 2, 3]
    assert [first_kept(times, kept, 0) for kept in (5, 4, 3, 1)] == [0, 0, 1, 3]
    assert evict(row_of((1, ""), (2, "")), 1, 0, unknown_of) == row_of((2, ""))._replace(evicted=True)


def test_the_floor_is_what_still_lends_a_value_and_no_more() -> None:
    row = row_of((1, ""), (2, "a"), (3, "b"), (4, "ab"), (5, "abc"), (6, "ab"), (7, "abc"))
    kept = evict(row, 2, 0, unknown_of)
    # 6 wants a and b: 5 and 4 know neither, 3 knows a, 2 knows b, so that 1 is not asked.
    assert unknowns(kept) == [(2, "a"), (3, "b"), (6, "ab"), (7, "abc")]
    assert kept.evicted
    assert evict(kept, 2, 0, unknown_of) == kept
    assert unknowns(evict(kept, 1, 0, unknown_of)) == [(2, "a"), (3, "b"), (6, "ab"), (7, "abc")]
