import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.document.faults import Place
from penstock.document.tree import DEPTH_MAX, NODES_MAX, TEXT_CHARS_MAX, Node, parse


def planted(text: str) -> Node:
    root, faults = parse(text)
    assert faults == []
    assert root is not None
    return root


def test_values_stay_as_written() -> None:
    text = "{a: yes, b: 2026-01-01, c: 0x10, d: 1.5, e: true, f: ~, g: '1', h: [x, [y]], 404: k}"
    assert planted(text).value == {
        "a": "yes",
        "b": "2026-01-01",
        "c": 16,
        "d": 1.5,
        "e": True,
        "f": None,
        "g": "1",
        "h": ("x", ("y",)),
        "404": "k",
    }


def test_places_count_from_one() -> None:
    root = planted("a:\n  - b\n  - c: d\n")
    item = root.children["a"].children[1]
    assert root.children["a"].key_place == Place(1, 1)
    assert root.children["a"].children[0].place == Place(2, 5)
    assert (item.children["c"].key_place, item.children["c"].place) == (Place(3, 5), Place(3, 8))


def test_nothing_behind_a_key_is_placed_at_the_key() -> None:
    assert planted("a:\nb: 1\n").children["a"].place == Place(1, 1)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", Place(1, 1), "is empty"),
        ("# only a comment\n", Place(1, 1), "is empty"),
        ("a: 1\nb: 'open\nc: 2\n", Place(2, 4), "a quote is opened here and never closed"),
        ("a: 1\nb: [1,\nc: 2\n", Place(2, 4), "a bracket opened here is not closed"),
        ("version: 1\nevent_types: {a.b: [\n", Place(2, 20), "a bracket opened here is not closed"),
        ("a: {\n\n", Place(1, 4), "a bracket opened here is not closed"),
        ("a: [[1], {b: ']'}, # ]\n", Place(1, 4), "a bracket opened here is not closed"),
        ("a: {b: [1, }\n", Place(1, 8), "a bracket opened here is not closed"),
        ("a: [1, , 2]\n", Place(1, 8), "expected the node content, but found ','"),
        ("a:\n\tb: 1\n", Place(2, 1), "a tab stands where spaces belong"),
        ("a: 1\n b: 2\n", Place(2, 3), "mapping values are not allowed here"),
        ("a: *nowhere\n", Place(1, 4), "undefined alias 'nowhere'"),
        ("a: 1\n---\nb: 2\n", Place(2, 1), "another document"),
        ("a: \x00\n", Place(1, 1), "special characters are not allowed"),
    ],
)
def test_text_that_is_no_document_is_one_fault_at_its_place(text: str, place: Place, words: str) -> None:
    root, [fault] = parse(text)
    assert root is None
    assert fault.place == place
    assert words in fault.problem


def test_every_repeated_key_is_a_fault_and_the_first_value_counts() -> None:
    root, faults = parse("a: 1\nb: {c: 1, c: 2}\na: 2\na: 3\n")
    assert root is not None
    assert root.value == {"a": 1, "b": {"c": 1}}
    assert [(fault.place.line, fault.path) for fault in faults] == [(2, "b.c"), (3, "a"), (4, "a")]
    assert faults[0].problem == "is there twice (first in line 2)"


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("a: !secret x\n", "a", "unknown tag !secret"),
        ("a: !!int x\n", "a", "'x' cannot be read as int"),
        ("a: {[b, c]: d}\n", "a", "has a key that is not a word"),
    ],
)
def test_what_only_yaml_can_say_is_a_fault(text: str, path: str, words: str) -> None:
    _, [fault] = parse(text)
    assert fault.path == path
    assert words in fault.problem


def test_text_is_limited() -> None:
    _, [fault] = parse("#" * (TEXT_CHARS_MAX + 1))
    assert f"at most {TEXT_CHARS_MAX}" in fault.problem


@pytest.mark.parametrize("depth", [DEPTH_MAX + 2, 500])
def test_depth_is_limited(depth: int) -> None:
    _, [fault] = parse("[" * depth + "]" * depth)
    assert "nested too deeply" in fault.problem


def test_a_list_within_itself_is_limited_by_depth() -> None:
    _, [fault] = parse("a: &a [*a]\n")
    assert "nested too deeply" in fault.problem


def test_aliases_count_as_often_as_they_are_used() -> None:
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 8)]
    _, faults = parse("\n".join(lines))
    assert [fault.problem for fault in faults] == [f"is one value too many; at most {NODES_MAX} are read"]


@given(st.text(alphabet="ab:- []{}'\"\n#&*!|>", max_size=60))
def test_any_text_gives_a_tree_or_faults(text: str) -> None:
    root, faults = parse(text)
    assert root is not None or len(faults) == 1
