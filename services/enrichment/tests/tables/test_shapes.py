from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from penstock.enrichment.tables.shapes import SPELLED_OUT, Shapes, join, read_shape, shape_of, split

texts = st.text(st.characters(codec="utf-8") | st.just("\0"))


@given(st.lists(texts, max_size=4), st.lists(texts, max_size=4))
def test_values_come_back_as_they_were_and_different_ones_differ(values: list[str], others: list[str]) -> None:
    assert split(join(values), len(values)) == values
    if len(values) == len(others):
        assert (join(values) == join(others)) == (values == others)


@given(st.dictionaries(texts, texts, max_size=4), st.lists(texts, max_size=3), st.integers(0, 1))
def test_columns_survive_with_and_without_a_number_for_their_shape(
    columns: dict[str, str], unknown: list[str], shapes_max: int
) -> None:
    shapes = Shapes(shapes_max=shapes_max)
    number, packed = shapes.pack(False, True, columns, unknown)
    assert (number == SPELLED_OUT) == (shapes_max == 0)
    shape, text = shapes.read(number, packed)
    assert dict(zip(shape.names, split(text, len(shape.names)), strict=True)) == columns
    assert set(shape.unknown) == set(unknown) - set(columns)
    assert (shape.deleted, shape.from_snapshot) == (False, True)
    assert read_shape(shape.text) == shape


def test_a_shape_is_the_same_in_any_order_of_its_columns() -> None:
    shapes = Shapes()
    one = shapes.pack(False, False, {"a": "1", "b": "2"}, ["d", "c"])
    other = shapes.pack(False, False, {"b": "2", "a": "1"}, ["c", "d", "d"])
    assert one == other
    assert len(shapes.known) == 1


def test_a_column_is_not_mistaken_for_an_unknown_one() -> None:
    shapes = Shapes()
    assert shapes.pack(False, False, {"a": ""}, ["b"])[0] != shapes.pack(False, False, {"a": "", "b": ""}, [])[0]


def test_only_rows_whose_columns_are_all_known_are_plain() -> None:
    shapes = Shapes()
    shapes.pack(False, False, {"a": "1"}, [])
    shapes.pack(False, False, {"a": "1"}, ["b"])
    shapes.pack(False, False, {}, [])
    shapes.pack(True, False, {}, [])
    assert shapes.plain == {0: ("a",)}
    assert Shapes(shapes.known).plain == shapes.plain


def test_shapes_that_have_a_number_keep_it_when_numbers_run_out() -> None:
    shapes = Shapes(shapes_max=2)
    numbers = [shapes.pack(False, False, {name: "1"}, [])[0] for name in "abcabc"]
    assert numbers == [0, 1, SPELLED_OUT, 0, 1, SPELLED_OUT]
    assert Shapes(shapes.known, shapes_max=2).pack(False, False, {"b": "1"}, [])[0] == 1


def test_a_change_outranks_a_snapshot_and_a_delete_an_upsert() -> None:
    ranked = [
        shape_of(False, True, ["a", "b"], []),
        shape_of(False, False, ["a"], ["b"]),
        shape_of(False, False, ["a", "b"], []),
        shape_of(True, False, [], []),
    ]
    assert sorted(ranked, key=lambda shape: shape.rank) == ranked
